//! The gateway that the command line asks: the one that serves the data directory, or one opened
//! for the command.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tillgate_console::ask::Ask;
use tillgate_console::{Actor, Command, CommandError, control, dispatch};
use tillgate_gateway::App;
use tillgate_gateway::open::{self, OpenError, Options};
use tillgate_machine::data_dir::{self, DataDirError, IfMissing};

use super::args::Common;
use super::failure::Failure;
use super::made::MadeByCommand;
use super::options::options;
use super::render::parse_answer;

/// Time to wait until a command releases the data directory, or a starting gateway answers.
const WAIT_FOR_LOCK: Duration = Duration::from_secs(10);

/// Time between two tries.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// The gateway that the command line asks.
pub struct GatewayClient<'a> {
    pub common: &'a Common,
    /// A gateway that was opened because none ran; it stays open for the next command.
    pub opened: Option<Arc<App>>,
    /// Files that were created for this gateway.
    pub made: Option<MadeByCommand>,
}

/// Commands that may come before the first start create a missing data directory. For any other
/// command a missing folder is a typing error.
fn if_missing(command: &Command) -> IfMissing {
    let makes = matches!(
        command,
        Command::SetSetting(_)
            | Command::ChangeSettings(_)
            | Command::CreateWallet(_)
            | Command::DraftWallet(_)
            | Command::RestoreWallet(_)
    );
    if makes { IfMissing::Make } else { IfMissing::Refuse }
}

/// The gateway's answer, or the error of opening the gateway.
pub type Answer = Result<Result<Value, CommandError>, OpenError>;

impl<'a> GatewayClient<'a> {
    /// A client that has asked no gateway yet.
    pub const fn new(common: &'a Common) -> Self {
        Self { common, opened: None, made: None }
    }

    /// Removes the files that were created for a failed command.
    pub fn take_back(&self, command: &Command) {
        if let (Some(made), Some(app)) = (&self.made, &self.opened) {
            made.take_back(command, app);
        }
    }

    /// The gateway's answer, in the type that belongs to the question.
    ///
    /// # Errors
    /// The gateway cannot be opened, or it refuses.
    pub async fn answer_of<A: Ask + Clone + Into<Command>>(
        &mut self,
        asked: &A,
    ) -> Result<A::Answer, Failure> {
        let view = self.answer(&asked.clone().into()).await???;
        Ok(parse_answer(asked, view)?)
    }

    pub async fn answer(&mut self, command: &Command) -> Result<Answer, Failure> {
        if let Some(app) = &self.opened {
            return Ok(Ok(dispatch(app, command.clone(), &Actor::command_line()).await));
        }
        let (env_dir, is_there) = match found(self.common) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.into())),
        };
        let socket = data_dir::socket(&env_dir);
        // The owners of the folder and of the socket were checked, so the socket is not another
        // user's.
        if is_there && let Some(answer) = control::ask(&socket, command).await {
            return Ok(Ok(answer));
        }
        let options = Options { if_missing: if_missing(command), ..options(self.common)? };
        let made = MadeByCommand::before(self.common);
        let mut waited = Duration::ZERO;
        loop {
            match open::open(options.clone()).await {
                Ok(app) => {
                    if !is_there {
                        let _ = writeln!(
                            std::io::stderr(),
                            "tillgate: made the data directory {}",
                            env_dir.display()
                        );
                    }
                    self.made = Some(made);
                    let app = self.opened.insert(app);
                    return Ok(Ok(dispatch(app, command.clone(), &Actor::command_line()).await));
                }
                Err(OpenError::DataDir(DataDirError::InUse { .. })) if waited < WAIT_FOR_LOCK => {}
                Err(error) => return Ok(Err(error)),
            }
            if let Some(answer) = control::ask(&socket, command).await {
                return Ok(Ok(answer));
            }
            tokio::time::sleep(TRY_EVERY).await;
            waited += TRY_EVERY;
        }
    }
}

/// The environment's folder, and whether it already holds a database.
pub fn found(common: &Common) -> Result<(PathBuf, bool), DataDirError> {
    let base = data_dir::base(common.data_dir.as_deref())?;
    let is_there = data_dir::exists(&base, common.environment)?;
    Ok((data_dir::env_dir(&base, common.environment), is_there))
}
