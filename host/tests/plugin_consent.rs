//! The question that is put to the user when a plugin wants more than it has.

#![allow(clippy::unwrap_used)]

#[path = "support/plugins.rs"]
mod plugins;

use std::sync::Mutex;

use clawhold::app::{Consent, ConsentRequest, Host, PluginState};
use clawhold::config::{Env, Flags, Settings};
use plugins::{declaring, guest};

struct Asked {
    answer: bool,
    requests: Mutex<Vec<ConsentRequest>>,
}

impl Asked {
    fn new(answer: bool) -> Self {
        Self { answer, requests: Mutex::default() }
    }

    fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Consent for Asked {
    fn approve(&self, request: &ConsentRequest) -> bool {
        self.requests.lock().unwrap().push(request.clone());
        self.answer
    }
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/plugins")).unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::write(
            dir.path().join("home/config.toml"),
            "# mine\n[plugins.workspace]\nenabled = false\n",
        )
        .unwrap();
        Self(dir)
    }

    fn install(&self, needs: &str) {
        let manifest =
            format!(r#"{{"description":"looks \u001b[2Kthings up","needs":{{{needs}}}}}"#);
        let path = self.0.path().join("home/plugins/docs.wasm");
        std::fs::write(path, declaring(guest("probe"), &manifest)).unwrap();
    }

    fn open(&self, consent: &Asked) -> PluginState {
        let home = self.0.path().join("home");
        let flags = Flags { workdir: Some(self.0.path().join("work")), ..Flags::default() };
        let settings =
            Settings::load(&flags, Env::of(&[("CLAWHOLD_HOME", home.to_str().unwrap())])).unwrap();
        let host =
            Host::open_with(&settings, std::sync::Arc::new(clawhold::tool::DenyAll), Some(consent))
                .unwrap();
        host.plugins()[1].state.clone()
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.0.path().join("home/config.toml")).unwrap()
    }
}

#[test]
fn p41_who_is_asked_sees_everything_escaped_and_no_means_off() {
    let home = Home::new();
    home.install(r#""read":["."],"http":[{"host":"api.example.com","why":"reads \u202epages"}]"#);
    let no = Asked::new(false);
    assert!(matches!(home.open(&no), PluginState::Off(_)));
    let request = no.requests.lock().unwrap()[0].clone();
    assert_eq!(
        request.asks,
        ["send GET requests to `api.example.com` (it says: reads \\u{202e}pages)"]
    );
    assert_eq!(request.description.as_deref(), Some("looks \\x1b[2Kthings up"));
    assert_eq!(request.tools.len(), 3);
    assert!(!home.config().contains("docs"));
    // A no is not remembered as a yes: the next start asks again.
    assert!(matches!(home.open(&no), PluginState::Off(_)));
    assert_eq!(no.count(), 2);
}

#[test]
fn a_yes_is_written_down_pinned_and_not_asked_again() {
    let home = Home::new();
    home.install(r#""read":["."],"env":["LANG"]"#);
    let yes = Asked::new(true);
    assert_eq!(home.open(&yes), PluginState::Loaded);
    assert_eq!(
        home.config(),
        "# mine\n[plugins.workspace]\nenabled = false\n\n[plugins.docs]\nenv = [\"LANG\"]\n"
    );
    assert_eq!(home.open(&yes), PluginState::Loaded);
    assert_eq!(yes.count(), 1);

    // Wider: asked with the difference, and a no leaves it off.
    home.install(r#""read":["."],"env":["LANG","HOME"]"#);
    let no = Asked::new(false);
    assert!(matches!(home.open(&no), PluginState::Off(_)));
    assert_eq!(no.requests.lock().unwrap()[0].changes, ["more: env `HOME`"]);
}

#[test]
fn within_the_default_nobody_is_asked() {
    let home = Home::new();
    home.install(r#""read":["."],"settings":["language"]"#);
    let no = Asked::new(false);
    assert_eq!(home.open(&no), PluginState::Loaded);
    assert_eq!(no.count(), 0);
}
