//! How complex a piece of work is, and how to estimate that from the requirement before anyone has looked at
//! the work.
//!
//! The rule: each area that the requirement names is a point, each word that stands for hard work is two. Up to one point
//! the work is low, up to three medium, from four on high. Whole words count, whatever their case.

use crate::mention::Words;
use crate::task::words;

words! {
    /// How complex work is.
    Complexity {
        /// One person does it in one go.
        Low = "low",
        /// Several parts that can be done side by side.
        Medium = "medium",
        /// Its parts must be designed together first.
        High = "high",
    }
}

/// Areas of software, each with the words that name it.
pub(crate) const AREAS: &[(&str, &[&str])] = &[
    (
        "frontend",
        &["frontend", "front end", "ui", "page", "screen", "form", "dashboard", "css", "react", "vue", "前端", "界面"],
    ),
    (
        "backend",
        &[
            "backend",
            "back end",
            "api",
            "apis",
            "endpoint",
            "endpoints",
            "server",
            "service",
            "services",
            "rest",
            "graphql",
            "后端",
            "接口",
        ],
    ),
    ("data", &["database", "sql", "schema", "table", "tables", "storage", "cache", "query", "queries", "数据库"]),
    (
        "security",
        &[
            "security",
            "auth",
            "authentication",
            "authorization",
            "oauth",
            "jwt",
            "login",
            "password",
            "permissions",
            "owasp",
            "安全",
            "登录",
        ],
    ),
    (
        "infrastructure",
        &["infrastructure", "deploy", "deployment", "docker", "kubernetes", "ci", "terraform", "cluster", "部署"],
    ),
    ("performance", &["performance", "latency", "throughput", "scale", "scaling", "load", "性能"]),
    (
        "integration",
        &[
            "integration",
            "integrate",
            "webhook",
            "webhooks",
            "payment",
            "payments",
            "third party",
            "import",
            "export",
            "集成",
        ],
    ),
    ("mobile", &["mobile", "ios", "android", "移动端"]),
];

/// Words that stand for hard work, whatever the area.
pub(crate) const HARD: &[&str] = &[
    "architecture",
    "migrate",
    "migration",
    "rewrite",
    "redesign",
    "distributed",
    "concurrent",
    "concurrency",
    "real time",
    "realtime",
    "multi tenant",
    "zero downtime",
    "backward compatible",
    "backwards compatible",
    "protocol",
    "架构",
    "重构",
    "迁移",
    "分布式",
    "并发",
];

/// What a requirement comes to, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// How complex the work is.
    pub level: Complexity,
    /// The sum of its points.
    pub points: u32,
    /// The areas and hard words that gave them.
    pub reasons: Vec<&'static str>,
}

impl Assessment {
    /// What a requirement says about the work.
    pub fn assess(requirement: &str) -> Self {
        let text = Words::split(requirement);
        let areas = AREAS.iter().filter(|(_, names)| text.first(names.iter().copied()).is_some());
        let hard = HARD.iter().copied().filter(|word| text.mention(word));
        let areas: Vec<&str> = areas.map(|(area, _)| *area).collect();
        let hard: Vec<&str> = hard.collect();
        let points = u32::try_from(areas.len() + 2 * hard.len()).unwrap_or(u32::MAX);
        Self { level: level(points), points, reasons: areas.into_iter().chain(hard).collect() }
    }
}

const fn level(points: u32) -> Complexity {
    match points {
        0..=1 => Complexity::Low,
        2..=3 => Complexity::Medium,
        _ => Complexity::High,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_by_example() {
        for (requirement, level, reasons) in [
            ("", Complexity::Low, &[][..]),
            ("Fix the typo in the help text", Complexity::Low, &[]),
            ("Add a login form", Complexity::Medium, &["frontend", "security"]),
            ("A dashboard over the REST API and its API again", Complexity::Medium, &["frontend", "backend"]),
            ("Migration of the database", Complexity::Medium, &["data", "migration"]),
            ("Rewrite the API as distributed services", Complexity::High, &["backend", "rewrite", "distributed"]),
            (
                "OAuth login for the API with a page, tables and payments",
                Complexity::High,
                &["frontend", "backend", "data", "security", "integration"],
            ),
            ("重构登录接口", Complexity::High, &["backend", "security", "重构"]),
        ] {
            let assessed = Assessment::assess(requirement);
            assert_eq!((assessed.level, assessed.reasons.as_slice()), (level, reasons), "{requirement}");
        }
    }

    #[test]
    fn complexity_grows_with_points_over_all_levels() {
        let levels: Vec<_> = (0..9).map(level).collect();
        assert!(levels.is_sorted());
        assert_eq!(levels.iter().collect::<std::collections::BTreeSet<_>>().len(), Complexity::ALL.len());
        assert_eq!(level(u32::MAX), Complexity::High);
    }
}
