//! The plan in the language of Graphviz. Every task and every dependency is in it, however many there are.

use std::fmt::{Display, Formatter, Result};

use super::text::plain;
use super::theme::{status_colour, status_name};
use super::{Picture, wave_name};

/// Draws a picture.
pub(super) fn draw(picture: &Picture) -> String {
    Graph(picture).to_string()
}

struct Graph<'a>(&'a Picture);

impl Display for Graph<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let picture = self.0;
        writeln!(out, "digraph plan {{")?;
        writeln!(
            out,
            "  graph [rankdir=LR, newrank=true, ranksep=0.9, nodesep=0.25, labelloc=t, fontname=\"sans-serif\","
        )?;
        writeln!(out, "    label=\"{}\\n{}\"];", escaped(&picture.title), escaped(&picture.subtitle))?;
        writeln!(out, "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"sans-serif\"];")?;
        writeln!(out, "  edge [color=\"#8d98a5\"];")?;
        for (wave, nodes) in picture.waves() {
            writeln!(out, "  subgraph cluster_wave_{wave} {{")?;
            writeln!(out, "    label=\"{}\"; style=rounded; color=\"#d1d9e0\"; rank=same;", wave_name(wave))?;
            for at in nodes {
                let node = &picture.nodes[at];
                let (id, title, role) = (escaped(&node.id), escaped(&node.title), escaped(&node.role));
                let (status, colour) = (status_name(node.status), status_colour(node.status));
                let width = if node.critical { 3 } else { 1 };
                let title = if title.is_empty() { title } else { format!("\\n{title}") };
                writeln!(
                    out,
                    "    n{at} [label=\"{id}{title}\\n{role} · {status}\", color=\"{colour}\", penwidth={width}];"
                )?;
            }
            writeln!(out, "  }}")?;
        }
        for (from, to, critical) in picture.edges() {
            let style = if critical { " [color=\"#8250df\", penwidth=2.5]" } else { "" };
            writeln!(out, "  n{from} -> n{to}{style};")?;
        }
        writeln!(out, "}}")
    }
}

/// The text within quotes: Graphviz reads backslashes and the entities of HTML there.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::samples;

    #[test]
    fn quotes_backslashes_and_new_lines_stay_in_the_label() {
        assert_eq!(escaped("a\"b\\c\nd&lt;\\N\\"), "a\\\"b\\\\c d&amp;lt;\\\\N\\\\");
        let mut picture = samples::chain(1);
        picture.nodes[0].title = "\"]; evil [label=\"x\\".to_owned();
        let dot = picture.to_dot();
        assert!(dot.contains("label=\"STEP-0\\n\\\"]; evil [label=\\\"x\\\\\\nworker"), "{dot}");
    }

    #[test]
    fn waves_statuses_and_the_critical_path_are_told() {
        let dot = samples::diamond().to_dot();
        assert!(dot.starts_with("digraph plan {") && dot.ends_with("}\n"));
        assert_eq!(dot.matches("subgraph cluster_wave_").count(), 4);
        assert_eq!(dot.matches(" -> ").count(), samples::diamond().edges.len());
        assert!(dot.contains("· in progress\", color=\"#0969da\", penwidth=3"), "{dot}");
        assert!(dot.contains("n0 -> n1 [color=\"#8250df\", penwidth=2.5];"), "{dot}");
    }

    #[test]
    fn every_task_of_a_large_plan_is_printed() {
        let dot = samples::chain(100_000).to_dot();
        assert_eq!(dot.matches(" -> ").count(), 99_999);
        assert!(dot.contains("n99999 [label="));
    }
}
