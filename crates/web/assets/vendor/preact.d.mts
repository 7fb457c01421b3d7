// Types of what the page uses, for `tsc` in the tests.
export type Node = object | string | number | boolean | null | undefined;
export function h(type: unknown, props?: object | null, ...children: unknown[]): object;
export function render(node: Node, into: Element): void;
export const Fragment: (props: { children?: Node }) => Node;
