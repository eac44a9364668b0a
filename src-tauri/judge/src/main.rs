//! Judges regtest blocks by Bitcoin Core's own consensus rules.
//!
//! The only argument is an empty folder. The program reads one block in hexadecimal per line. For
//! each block it writes a line: height and hash of the best block, and the verdict if the block was
//! refused.

use std::error::Error;
use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bitcoinkernel::prelude::*;
use bitcoinkernel::{
    Block, BlockValidationStateRef, ChainType, ChainstateManagerBuilder, ContextBuilder, ValidationMode,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: tillgate-judge FOLDER")?;
    let blocks_folder = Path::new(&folder).join("blocks");
    let blocks_folder = blocks_folder.to_str().ok_or("the folder's name is not UTF-8")?;
    let refused: Arc<Mutex<Option<String>>> = Arc::default();
    let checked = Arc::clone(&refused);
    let context = ContextBuilder::new()
        .chain_type(ChainType::Regtest)
        .with_block_checked_validation(move |_: Block, state: BlockValidationStateRef<'_>| {
            if state.mode() != ValidationMode::Valid {
                let verdict = format!("{:?}", state.result());
                *checked.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
            }
        })
        .build()?;
    let chain = ChainstateManagerBuilder::new(&context, &folder, blocks_folder)?
        .block_tree_db_in_memory(true)
        .chainstate_db_in_memory(true)
        .build()?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let block = Block::new(&hex::decode(line?.trim())?)?;
        let result = chain.process_block(&block);
        let verdict = refused.lock().unwrap_or_else(PoisonError::into_inner).take();
        let verdict = verdict.or_else(|| result.is_rejected().then(|| "rejected".to_owned()));
        let active = chain.active_chain();
        writeln!(out, "{} {} {}", active.height(), active.tip().block_hash(), verdict.unwrap_or_default())?;
        out.flush()?;
    }
    Ok(())
}
