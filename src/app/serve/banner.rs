//! What a person sees when the daemon has started: what listens where, and where it is recorded.

use crate::admin::DaemonInfo;
use crate::app::config::Config;

/// The banner, several lines.
pub(super) fn text(info: &DaemonInfo, admin: &str, config: &Config) -> String {
    let kept = match &info.store {
        Some(store) => format!("records into {store} (session {})", info.session),
        None => "does not record (`record: { enabled: false }`)".to_owned(),
    };
    let width = info.agents.iter().map(|agent| agent.name.chars().count()).max().unwrap_or(0);
    let width = width.max("admin".len());
    let mut lines = vec![format!("{} {} {kept}", info.tool, info.version)];
    lines.extend(info.agents.iter().map(|agent| {
        let forward = agent.forward.as_deref().unwrap_or("played by Meddler");
        format!("  {:<width$}  {}  →  {forward}", agent.name, agent.url)
    }));
    lines.push(format!("  {:<width$}  {admin}", "admin"));
    match config.faults.len() {
        0 => {}
        1 => lines.push("1 fault rule".to_owned()),
        count => lines.push(format!("{count} fault rules")),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::AgentInfo;

    #[test]
    fn the_banner_says_what_listens_where() {
        let info = DaemonInfo {
            tool: "meddler".to_owned(),
            version: "0.1.0".to_owned(),
            instance: String::new(),
            pid: 1,
            started: String::new(),
            session: "run-1".to_owned(),
            store: Some("/rec".to_owned()),
            agents: vec![
                AgentInfo {
                    name: "billing".to_owned(),
                    url: "http://127.0.0.1:8095".to_owned(),
                    forward: Some("http://billing.test/a2a".to_owned()),
                    interfaces: Vec::new(),
                },
                AgentInfo {
                    name: "shipping".to_owned(),
                    url: "http://127.0.0.1:8096".to_owned(),
                    forward: None,
                    interfaces: Vec::new(),
                },
            ],
        };
        assert_eq!(
            text(&info, "http://127.0.0.1:7071", &Config::default()),
            "meddler 0.1.0 records into /rec (session run-1)\n  \
             billing   http://127.0.0.1:8095  →  http://billing.test/a2a\n  \
             shipping  http://127.0.0.1:8096  →  played by Meddler\n  \
             admin     http://127.0.0.1:7071"
        );
    }
}
