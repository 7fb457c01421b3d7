//! Real agents do the rows of a table: what they report by their own schema is the result of a row.

use serde_json::json;

use super::{Kind, Part, script, team};
use crate::csv::rows;

#[test]
fn claude_and_codex_report_the_results_of_rows() {
    for agent in ["claude", "codex"] {
        let part = Part { task: "WORK-001", role: "worker", agent, file: "work.md" };
        let Some((world, _model)) = team(&[part], Kind::Known) else { continue };
        let data = json!({"key_findings": [], "decisions": [], "files_modified": [], "verdict": null, "rejects": [],
                          "critique": null, "complexity": null, "capability_gap": null});
        let report = json!({"status": "completed", "findings": "greeted", "error": null, "supervision_verdict": null,
                            "quality_score": null, "result": "{\"greeting\": \"hello\"}", "stop": null, "data": data});
        script(&world, "worker", &[json!({"do": {"json": report}})]);
        world.write("people.csv", "id,name\na,Ada\nb,Bob\n");
        let schema = r#"{"type":"object","required":["greeting"],"additionalProperties":false,"properties":{"greeting":{"type":"string"}}}"#;
        let words =
            ["csv", "people.csv", "--instruction", "Greet {name}", "--id-column", "id", "--output-schema", schema];
        let run = world.run(&[&words[..], &["--agent", "worker", "-y", "--trust-project"]].concat());
        assert_eq!(run.code, Some(0), "{agent}: {run}");
        let rows = rows(&world);
        assert_eq!(rows.len(), 2, "{agent}");
        assert!(rows.iter().all(|row| row["result_json"] == r#"{"greeting":"hello"}"#), "{agent}: {rows:?}");
    }
}
