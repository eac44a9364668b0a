//! Both environments in one program: the window that switches between them, and `tillgate serve`.
//! Production needs a keyring; the test sessions have one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use serde_json::Value;

use crate::app::{App, TILLGATE, terminate, tillgate, until};
use crate::display::Display;
use crate::session::inside;
use crate::stories::{makes_a_payment, quits};

/// Creates production's folder with these files.
fn production(data: &Path, files: &[(&str, &str)]) -> PathBuf {
    let folder = data.join("production");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).unwrap();
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
    folder
}

fn in_environment(data: &Path, environment: &str, arguments: &[&str]) -> Value {
    tillgate(data, &[arguments, &["--environment", environment]].concat())
}

#[test]
fn switching_environments_shows_only_that_environments_data() {
    inside("environments::switching_environments_shows_only_that_environments_data", async || {
        let data = tempfile::tempdir().unwrap();
        let app = App::start(data.path()).await;
        app.sees("Test environment").await;
        makes_a_payment(&app).await;
        let display = Display::open();
        let title = async |end: &str| {
            until("the title names the environment", async || {
                display.title().ends_with(end).then_some(())
            })
            .await;
        };
        title("(test environment)").await;

        app.clicks("Production").await;
        app.sees("Production environment").await;
        app.sees("Take real money").await;
        title("(production)").await;
        assert!(!app.text().await.contains("Two coffees"), "{}", app.text().await);
        app.clicks("API keys").await;
        app.clicks("Create an API key").await;
        app.types("key-name", "live_shop").await;
        app.clicks("Create the key").await;
        app.clicks("I have stored it").await;
        app.waits_for("//td[normalize-space()='live_shop']").await;

        app.clicks("Test").await;
        app.sees("Test environment").await;
        app.sees_state("NEW").await;
        title("(test environment)").await;
        app.clicks("API keys").await;
        app.sees("No API keys yet").await;

        let keys = |environment| in_environment(data.path(), environment, &["keys", "list"]);
        assert_eq!(keys("production")["items"][0]["name"], "live_shop");
        assert_eq!(keys("test")["items"], serde_json::json!([]));
        let api =
            |environment| in_environment(data.path(), environment, &["status"])["api"].clone();
        assert!(
            api("test").is_string()
                && api("production").is_string()
                && api("test") != api("production")
        );

        app.clicks("Production").await;
        app.sees("live_shop").await;
        quits(&app, data.path()).await;
    });
}

#[test]
fn an_unreadable_database_stops_its_environment_until_a_retry() {
    inside(
        "environments::an_unreadable_database_stops_its_environment_until_a_retry",
        async || {
            let data = tempfile::tempdir().unwrap();
            let broken = "no database at all, but long enough to be looked at";
            let folder = production(data.path(), &[("tillgate.db", broken)]);
            let app = App::start(data.path()).await;
            app.sees("No payments yet").await;
            app.clicks("Production").await;
            app.sees("Production is not running").await;
            app.clicks("Test").await;
            makes_a_payment(&app).await;
            app.clicks("Production").await;
            fs::remove_file(folder.join("tillgate.db")).unwrap();
            app.clicks("Try again").await;
            app.sees("Take real money").await;
            quits(&app, data.path()).await;
        },
    );
}

/// A running `tillgate serve` for all existing environments, with the lines of its output and its
/// log.
struct Serve {
    child: Child,
    ready: mpsc::Receiver<String>,
    log: mpsc::Receiver<String>,
}

impl Serve {
    fn start(data: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(TILLGATE);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let ready = lines(child.stdout.take().unwrap());
        let log = lines(child.stderr.take().unwrap());
        Self { child, ready, log }
    }

    /// Waits until the next gateway is ready. Returns its environment and the address of its API.
    fn ready(&self) -> (String, String) {
        let line = self.ready.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        (line["environment"].as_str().unwrap().to_owned(), line["api"].as_str().unwrap().to_owned())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        terminate(&mut self.child);
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).for_each(|line| drop(tell.send(line)));
    });
    told
}

#[test]
fn serve_reports_both_environments_ready_and_stops_both() {
    inside("environments::serve_reports_both_environments_ready_and_stops_both", async || {
        let data = tempfile::tempdir().unwrap();
        production(data.path(), &[("wallet.made", "")]);
        let mut serve = Serve::start(data.path(), &[]);
        let mut ready = [serve.ready(), serve.ready()];
        ready.sort();
        assert_eq!((ready[0].0.as_str(), ready[1].0.as_str()), ("production", "test"));
        assert_ne!(ready[0].1, ready[1].1);
        for environment in ["test", "production"] {
            let status = in_environment(data.path(), environment, &["status"]);
            assert_eq!(
                (&status["serving"], &status["environment"]),
                (&true.into(), &environment.into())
            );
        }
        let began = tokio::time::Instant::now();
        terminate(&mut serve.child);
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
        assert_eq!(serve.child.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn an_ended_thread_restarts_only_its_own_environment() {
    inside("environments::an_ended_thread_restarts_only_its_own_environment", async || {
        let data = tempfile::tempdir().unwrap();
        production(data.path(), &[("wallet.made", "")]);
        // Only the test environment has this thread, because production has no wallet whose
        // addresses it could derive.
        let serve = Serve::start(data.path(), &[("TILLGATE_END_THREAD", "addresses")]);
        let failures =
            serve.log.iter().filter(|line| line.contains("not served")).take(3).collect::<Vec<_>>();
        for line in &failures {
            assert!(line.contains("[test]") && line.contains("derivation of addresses"), "{line}");
        }
        let status = in_environment(data.path(), "production", &["status"]);
        assert_eq!(status["serving"], true, "{status}");
    });
}
