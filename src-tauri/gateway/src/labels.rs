//! Imports labels that another wallet program exported (BIP329, JSON lines). A label is a note: it
//! changes no money, no state and no notification.

mod file;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use bitcoin::address::NetworkUnchecked;
use bitcoin::{Address, Network, OutPoint, ScriptBuf, Txid};

pub use self::file::LabelsFileError;
use tillgate_store::labels::{Labelled, LabelledKind, LabelsFrom, shortened};
use tillgate_store::{Reader, StoreError};

use self::file::{Line, lines, read};
use crate::gateway::Gateway;

/// Own labels that are read at the same time.
const OWN_PAGE: u32 = 1_000;

/// The effect of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Labels that are new, changed, or gone because the file has our own label.
    pub changed: usize,
    /// Labels that were there before.
    pub unchanged: usize,
    /// Numbers of the lines about things that are not of this wallet.
    pub foreign: Vec<usize>,
    /// The types of the other lines, with the number of labels of each.
    pub other_types: Vec<(String, usize)>,
    /// Labels that were longer than BIP329 allows, and were cut.
    pub cut: usize,
    /// Labels that a later line about the same thing replaced.
    pub replaced: usize,
    /// Coins of this wallet that the other program does not spend.
    pub frozen: usize,
}

/// The reason why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    File(#[from] LabelsFileError),
    #[error("the import was interrupted: try again")]
    Interrupted,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A thing with a label: its kind, and a txid, an address or an outpoint.
type Thing = (LabelledKind, String);

/// The labels of a file that concern this wallet, and the facts about the other lines.
#[derive(Default)]
struct Sorted {
    labels: HashMap<Thing, String>,
    told: Imported,
}

/// Imports the labels of the file in one transaction.
pub async fn import(
    gateway: &Arc<Gateway>,
    network: Network,
    file: PathBuf,
    actor: &str,
) -> Result<Imported, ImportError> {
    let reading = Arc::clone(gateway);
    let job = move || {
        let text = read(&file)?;
        let lines = lines(&text)?;
        Ok::<_, ImportError>(reading.store.read(|reader| {
            let sorted = sort(reader, network, lines)?;
            let own = own_among(reader, &sorted.labels)?;
            Ok::<_, StoreError>((sorted, own))
        })?)
    };
    let (Sorted { labels, told }, own) =
        tokio::task::spawn_blocking(job).await.map_err(|_| ImportError::Interrupted)??;
    let (now, actor) = (gateway.time.now(), actor.to_owned());
    let store = move |tx: &tillgate_store::Tx<'_>| {
        let mut changed = 0;
        for ((kind, reference), label) in &labels {
            let is_changed = if own.contains(&(*kind, reference.clone())) {
                tx.forget_label(*kind, reference)?
            } else {
                tx.import_label(&Labelled {
                    kind: *kind,
                    reference: reference.clone(),
                    label: label.clone(),
                })?
            };
            changed += usize::from(is_changed);
        }
        if changed > 0 {
            tx.audit(now, &actor, "wallet labels", &format!("{changed} imported"))?;
        }
        Ok::<_, StoreError>(Imported { changed, unchanged: labels.len() - changed, ..told })
    };
    Ok(gateway.store.write(store).await?)
}

/// Sorts the lines of a file. Of two lines about the same thing the later one holds, as in Sparrow.
fn sort(reader: &Reader<'_>, network: Network, lines: Vec<Line>) -> Result<Sorted, StoreError> {
    let mut sorted = Sorted::default();
    let mut other_types: HashMap<String, usize> = HashMap::new();
    let mut coins: Option<HashSet<ScriptBuf>> = None;
    for line in lines {
        let Some(kind) = LabelledKind::named(&line.kind) else {
            *other_types.entry(line.kind).or_default() += 1;
            continue;
        };
        let Some(reference) = own_reference(reader, network, kind, &line.reference, &mut coins)?
        else {
            sorted.told.foreign.extend(line.label.map(|_| line.number));
            continue;
        };
        sorted.told.frozen += usize::from(line.is_frozen && kind == LabelledKind::Output);
        let Some(label) = line.label else { continue };
        let short = shortened(label.clone());
        sorted.told.cut += usize::from(short != label);
        let earlier = sorted.labels.insert((kind, reference), short.clone());
        sorted.told.replaced += usize::from(earlier.is_some_and(|earlier| earlier != short));
    }
    sorted.told.other_types = other_types.into_iter().collect();
    sorted.told.other_types.sort();
    Ok(sorted)
}

/// The reference in the form in which it is exported; `None` if it names nothing of this wallet.
fn own_reference(
    reader: &Reader<'_>,
    network: Network,
    kind: LabelledKind,
    reference: &str,
    coins: &mut Option<HashSet<ScriptBuf>>,
) -> Result<Option<String>, StoreError> {
    Ok(match kind {
        LabelledKind::Transaction => match reference.parse::<Txid>() {
            Ok(txid) if reader.is_own_transaction(&txid)? => Some(txid.to_string()),
            Ok(_) | Err(_) => None,
        },
        LabelledKind::Output => match reference.parse::<OutPoint>() {
            Ok(outpoint) if reader.is_own_output(&outpoint)? => Some(outpoint.to_string()),
            Ok(_) | Err(_) => None,
        },
        LabelledKind::Address => {
            let address = reference
                .parse::<Address<NetworkUnchecked>>()
                .and_then(|it| it.require_network(network));
            let Ok(address) = address else { return Ok(None) };
            let script = address.script_pubkey();
            let is_own = reader.is_script_of_record(&script)? || {
                if coins.is_none() {
                    *coins = Some(reader.scripts_without_payment()?);
                }
                coins.as_ref().is_some_and(|coins| coins.contains(&script))
            };
            is_own.then(|| address.to_string())
        }
    })
}

/// The things whose label in the file is the one that this program gives them. Such a label is not
/// stored, because it would stay when our own label changes.
fn own_among(
    reader: &Reader<'_>,
    labels: &HashMap<Thing, String>,
) -> Result<HashSet<Thing>, StoreError> {
    let mut own = HashSet::new();
    let mut from = Some(LabelsFrom::Transactions(Vec::new()));
    while let Some(page) = from {
        let (ours, next) = reader.own_labels(&page, OWN_PAGE)?;
        for Labelled { kind, reference, label } in ours {
            let thing = (kind, reference);
            if labels.get(&thing) == Some(&label) {
                own.insert(thing);
            }
        }
        from = next;
    }
    Ok(own)
}
