//! Starts the desktop program under WebDriver, and clicks, types and reads in it as a person would.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

pub const DESKTOP: &str = env!("CARGO_BIN_EXE_tillgate-desktop");
pub const TILLGATE: &str = env!("CARGO_BIN_EXE_tillgate");

/// Time limit for a condition, on two busy cores.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit of a click that hides or ends the page. The driver never answers such a click,
/// because a hidden page paints no frames.
const NO_ANSWER: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(25);

/// The program and its driver.
pub struct App {
    pub page: Client,
    driver: Child,
}

impl App {
    /// Starts the program on this data directory.
    pub async fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[]).await
    }

    /// Starts the program on this data directory, with further environment variables.
    pub async fn start_with(data_dir: &Path, variables: &[(&str, OsString)]) -> Self {
        let (port, native_port) = (free_port(), free_port());
        let mut driver = Command::new("tauri-driver");
        driver.args(["--port", &port.to_string(), "--native-port", &native_port.to_string()]);
        driver.envs(variables.iter().cloned());
        let driver = driver.stdin(Stdio::null()).spawn().unwrap();
        let capabilities: Capabilities = serde_json::from_value(json!({
            "browserName": "wry",
            "tauri:options": {
                "application": DESKTOP,
                "args": ["--data-dir", data_dir, "--listen", "127.0.0.1:0"],
            },
        }))
        .unwrap();
        let page = until("the driver opens a session", async || {
            let mut builder = ClientBuilder::new(HttpConnector::new());
            builder.capabilities(capabilities.clone());
            builder.connect(&format!("http://127.0.0.1:{port}")).await.ok()
        })
        .await;
        Self { page, driver }
    }

    /// Waits until the page shows this text.
    pub async fn sees(&self, text: &str) {
        let found = format!("//body//*[text()[contains(normalize-space(), {})]]", quoted(text));
        self.waits_for(&found).await;
    }

    pub async fn waits_for(&self, xpath: &str) -> fantoccini::elements::Element {
        let element =
            self.page.wait().at_most(TIMEOUT).every(POLL).for_element(Locator::XPath(xpath)).await;
        match element {
            Ok(element) => element,
            Err(error) => panic!(
                "timed out waiting for {xpath} ({error}); the page says:\n{}",
                self.text().await
            ),
        }
    }

    /// Waits until the record on the screen has this state.
    pub async fn sees_state(&self, state: &str) {
        self.waits_for(&format!("//h1//*[@data-state={}]", quoted(state))).await;
    }

    /// Clicks the button or link with this name, once it is enabled.
    pub async fn clicks(&self, name: &str) {
        let name = quoted(name);
        let control = format!(
            "(//dialog[@open]//*[self::button or self::a][normalize-space()={name}]|\
             //*[self::button or self::a][not(//dialog[@open])][starts-with(normalize-space(), {name})])[1]"
        );
        until(&format!("{name} can be clicked"), async || {
            let element = self.page.find(Locator::XPath(&control)).await.ok()?;
            if element.is_enabled().await.ok()? { element.click().await.ok() } else { None }
        })
        .await;
    }

    /// Clicks the button of the open dialog whose name begins with these words, once it is enabled.
    pub async fn clicks_in_dialog(&self, beginning: &str) {
        let words = quoted(beginning);
        let button = format!("//dialog[@open]//button[starts-with(normalize-space(), {words})]");
        until(&format!("{words} can be clicked"), async || {
            let element = self.page.find(Locator::XPath(&button)).await.ok()?;
            if element.is_enabled().await.ok()? { element.click().await.ok() } else { None }
        })
        .await;
    }

    /// Clicks a button of the open dialog that hides or ends the page. The driver does not answer
    /// such a click.
    pub async fn clicks_and_goes(&self, name: &str) {
        let control = format!("//dialog[@open]//button[normalize-space()={}]", quoted(name));
        let button = self.waits_for(&control).await;
        let _ = tokio::time::timeout(NO_ANSWER, button.click()).await;
    }

    /// Types into the field with this `name` attribute.
    pub async fn types(&self, field: &str, text: &str) {
        let field = self.waits_for(&format!("//*[@name={}]", quoted(field))).await;
        field.send_keys(text).await.unwrap();
    }

    /// Types into the field with this label.
    pub async fn types_labelled(&self, label: &str, text: &str) {
        let label = quoted(label);
        let field =
            self.waits_for(&format!("//input[@id=//label[normalize-space()={label}]/@for]")).await;
        field.send_keys(text).await.unwrap();
    }

    /// Chooses the check box or radio button with these words.
    pub async fn clicks_option(&self, words: &str) {
        let option =
            self.waits_for(&format!("//label[normalize-space()={}]/input", quoted(words))).await;
        option.click().await.unwrap();
    }

    /// Presses Esc.
    pub async fn escapes(&self) {
        self.presses("\u{e00c}").await;
    }

    /// Presses keys where the focus is.
    pub async fn presses(&self, keys: &str) {
        let focused = self.page.active_element().await.unwrap();
        focused.send_keys(keys).await.unwrap();
    }

    /// The whole text of the page.
    pub async fn text(&self) -> String {
        match self.page.find(Locator::Css("body")).await {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Runs a script in the page and returns its result.
    pub async fn script(&self, script: &str) -> Value {
        self.page.execute(script, vec![]).await.unwrap()
    }

    /// The address of the gateway's API, as the window shows it.
    pub async fn api(&self) -> String {
        let details = "//footer//button[@aria-expanded]";
        self.waits_for(details).await.click().await.unwrap();
        let shown = self
            .waits_for("//section//span[starts-with(normalize-space(), 'API http')][not(*)]")
            .await;
        let address = shown.text().await.unwrap().trim_start_matches("API ").to_owned();
        self.waits_for(details).await.click().await.unwrap();
        address
    }
}

impl Drop for App {
    fn drop(&mut self) {
        // SIGKILL would leave the driver's own child running.
        terminate(&mut self.driver);
    }
}

/// Runs `tillgate` on this data directory and returns its JSON output.
pub fn tillgate(data: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(TILLGATE)
        .args(arguments)
        .arg("--json")
        .arg("--data-dir")
        .arg(data)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Sends SIGTERM and waits.
pub fn terminate(child: &mut Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let _ = child.wait();
}

/// Waits until `look` returns a value.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let polled = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    match tokio::time::timeout(TIMEOUT, polled).await {
        Ok(found) => found,
        Err(_) => panic!("timed out waiting until {what}"),
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn quoted(text: &str) -> String {
    assert!(!text.contains('\''));
    format!("'{text}'")
}
