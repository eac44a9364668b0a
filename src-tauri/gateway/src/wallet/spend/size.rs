//! Sizes of our transactions once signed.

use bitcoin::hashes::Hash as _;
use bitcoin::{Script, ScriptBuf, VarInt, WPubkeyHash, WitnessProgram, WitnessVersion};

use crate::settings::AddressType;

/// Version and lock time (four bytes each), and the marker and flag of the witness.
const FRAME_WU: u64 = 4 * (4 + 4) + 2;

/// An outpoint, the length of an empty script, and a sequence.
const BARE_INPUT_WU: u64 = 4 * (36 + 1 + 4);

/// Two items with their lengths: a signature of 71 bytes and a key of 33.
const P2WPKH_WITNESS_WU: u64 = 1 + (1 + 71) + (1 + 33);

/// One item with its length: a signature of 64 bytes.
const P2TR_WITNESS_WU: u64 = 1 + (1 + 64);

/// The parts of a transaction that determine its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    address_type: AddressType,
    inputs: usize,
    outputs: usize,
    /// Weight of all outputs.
    outputs_wu: u64,
}

impl Shape {
    /// A transaction with these outputs and without inputs.
    pub fn paying<'a>(
        address_type: AddressType,
        scripts: impl IntoIterator<Item = &'a Script>,
    ) -> Self {
        let empty = Self { address_type, inputs: 0, outputs: 0, outputs_wu: 0 };
        scripts.into_iter().fold(empty, Self::and_to)
    }

    /// The same with one more output.
    pub fn and_to(self, script: &Script) -> Self {
        Self { outputs: self.outputs + 1, outputs_wu: self.outputs_wu + output_wu(script), ..self }
    }

    /// The same with this many inputs.
    pub const fn spending(self, inputs: usize) -> Self {
        Self { inputs, ..self }
    }

    pub const fn has_outputs(&self) -> bool {
        self.outputs > 0
    }

    /// Weight of all but the inputs. The encoded input count takes one byte or three.
    pub fn frame_wu(&self) -> u64 {
        FRAME_WU + 4 * (count_len(self.inputs) + count_len(self.outputs)) + self.outputs_wu
    }

    /// The vsize, rounded up.
    pub fn vsize(&self) -> u64 {
        (self.frame_wu() + input_wu(self.address_type) * self.inputs as u64).div_ceil(4)
    }
}

pub const fn input_wu(address_type: AddressType) -> u64 {
    BARE_INPUT_WU
        + match address_type {
            AddressType::Bip84 => P2WPKH_WITNESS_WU,
            AddressType::Bip86 => P2TR_WITNESS_WU,
        }
}

/// A script of the same length as this wallet's scripts.
pub fn some_script(address_type: AddressType) -> ScriptBuf {
    match address_type {
        AddressType::Bip84 => ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros()),
        AddressType::Bip86 => {
            let program =
                WitnessProgram::new(WitnessVersion::V1, &[0; 32]).expect("32 bytes are a program");
            ScriptBuf::new_witness_program(&program)
        }
    }
}

pub fn output_wu(script: &Script) -> u64 {
    4 * (8 + count_len(script.len()) + script.len() as u64)
}

fn count_len(count: usize) -> u64 {
    VarInt::from(count).size() as u64
}
