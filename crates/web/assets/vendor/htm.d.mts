// Types of what the page uses, for `tsc` in the tests.
declare const htm: { bind(h: Function): (strings: TemplateStringsArray, ...values: unknown[]) => any };
export default htm;
