//! The plan as a Mermaid flowchart. Every task and every dependency is in it, however many there are; viewers have limits
//! of their own.

use std::fmt::{Display, Formatter, Result};

use team_executor_core::TaskStatus;

use super::text::plain;
use super::theme::{status_colour, status_name};
use super::{Picture, wave_name};

/// Draws a picture.
pub(super) fn draw(picture: &Picture) -> String {
    Chart(picture).to_string()
}

struct Chart<'a>(&'a Picture);

impl Display for Chart<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let picture = self.0;
        if !plain(&picture.title).is_empty() {
            writeln!(out, "---\ntitle: \"{}\"\n---", yaml(&picture.title))?;
        }
        writeln!(out, "flowchart LR")?;
        for (wave, nodes) in picture.waves() {
            writeln!(out, "  subgraph w{wave}[\"{}\"]", wave_name(wave))?;
            for at in nodes {
                let node = &picture.nodes[at];
                let title = escaped(&node.title);
                let title = if title.is_empty() { title } else { format!("<br/>{title}") };
                let (id, role, status) = (escaped(&node.id), escaped(&node.role), status_name(node.status));
                writeln!(out, "    n{at}(\"{id}{title}<br/>{role} · {status}\"):::{}", node.status)?;
            }
            writeln!(out, "  end")?;
        }
        let edges = picture.edges();
        for (from, to, _) in &edges {
            writeln!(out, "  n{from} --> n{to}")?;
        }
        for &status in TaskStatus::ALL {
            let dash = if status == TaskStatus::Skipped { ",stroke-dasharray:5 4" } else { "" };
            writeln!(out, "  classDef {status} fill:#ffffff,color:#1f2328,stroke:{}{dash}", status_colour(status))?;
        }
        let list = |numbers: Vec<String>| numbers.join(",");
        let on_path = picture.nodes.iter().enumerate().filter(|(_, node)| node.critical);
        let on_path = list(on_path.map(|(at, _)| format!("n{at}")).collect());
        if !on_path.is_empty() {
            writeln!(out, "  classDef critical stroke-width:3px\n  class {on_path} critical")?;
        }
        let links = list(edges.iter().enumerate().filter(|(_, edge)| edge.2).map(|(at, _)| at.to_string()).collect());
        if !links.is_empty() {
            writeln!(out, "  linkStyle {links} stroke:#8250df,stroke-width:3px")?;
        }
        Ok(())
    }
}

/// The text within a quoted label: all punctuation that could mean anything to Mermaid, or to the Markdown and the HTML
/// within its labels, becomes a number.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        if !c.is_ascii() || c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '.' | ',' | '/' | '(' | ')') {
            out.push(c);
        } else {
            out.push_str(&format!("#{};", u32::from(c)));
        }
    }
    out
}

/// The text within double quotes of YAML.
fn yaml(text: &str) -> String {
    plain(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::samples;

    #[test]
    fn quotes_markup_and_directives_stay_in_the_label() {
        assert_eq!(escaped("say \"hi\""), "say #34;hi#34;");
        assert_eq!(escaped("<b>#quot;</b>"), "#60;b#62;#35;quot#59;#60;/b#62;");
        assert_eq!(escaped("%%{init: {}}%%"), "#37;#37;#123;init#58; #123;#125;#125;#37;#37;");
        assert_eq!(escaped("`*一*`\nend"), "#96;#42;一#42;#96; end");
        let mut picture = samples::chain(1);
        picture.title = "a\"\n---\nflowchart \\".to_owned();
        picture.nodes[0].title = "x\"] --> evil[\"".to_owned();
        let chart = picture.to_mermaid();
        assert!(chart.starts_with("---\ntitle: \"a\\\" --- flowchart \\\\\"\n---\nflowchart LR\n"), "{chart}");
        assert!(!chart.contains("-->"), "{chart}");
    }

    #[test]
    fn waves_statuses_and_the_critical_path_are_told() {
        let picture = samples::diamond();
        let chart = picture.to_mermaid();
        assert_eq!(chart.matches("subgraph w").count(), 4);
        assert_eq!(chart.matches(" --> ").count(), picture.edges.len());
        assert_eq!(chart.matches("  classDef ").count(), TaskStatus::ALL.len() + 1);
        assert!(chart.contains(" · in progress\"):::in_progress\n"), "{chart}");
        assert!(chart.contains("  linkStyle 0,2,4 stroke:"), "{chart}");
    }

    #[test]
    fn every_task_of_a_large_plan_is_printed() {
        assert_eq!(samples::chain(100_000).to_mermaid().matches(" --> ").count(), 99_999);
    }
}
