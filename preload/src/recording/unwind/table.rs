//! Which record of a file's .eh_frame describes a function, and what functions share of it.

use super::RIP;
use super::bytes::Bytes;
use crate::loaded::Loaded;
use core::ptr::with_exposed_provenance;

/// What describes the functions of one kind.
pub(super) struct Common {
    pub(super) code_unit: u64,
    pub(super) data_unit: i64,
    pub(super) encoding: u8,
    pub(super) has_augmentation: bool,
    pub(super) is_signal: bool,
    pub(super) program: Bytes,
}

/// A record's contents, and its length.
pub(super) fn record(at: usize, end: usize) -> Option<(usize, Bytes)> {
    let mut bytes = Bytes { at, end };
    let length = bytes.take::<u32>()? as usize;
    // (The long form isn't used for code.)
    if length == 0 || length == u32::MAX as usize || length > end - bytes.at {
        return None;
    }
    Some((length, Bytes { at: bytes.at, end: bytes.at + length }))
}

/// The description of the function that `address` lies in, by the sorted table.
pub(super) fn find(object: &Loaded, address: usize) -> Option<usize> {
    const SORTED: u8 = 0x3b;
    let table = object.table;
    if table == 0 {
        return None;
    }
    let mut bytes = Bytes { at: table, end: object.end };
    let [version, frame, count, entries]: [u8; 4] = bytes.take()?;
    if version != 1 || entries != SORTED {
        return None;
    }
    bytes.pointer(frame, table)?;
    let count = bytes.pointer(count, table)?;
    if count == 0 || count > (object.end - bytes.at) / 8 {
        return None;
    }
    let entry = |at: usize| {
        // SAFETY: within the table.
        let [start, description] =
            unsafe { with_exposed_provenance::<[i32; 2]>(bytes.at + at * 8).read_unaligned() };
        (table.wrapping_add(start as usize), table.wrapping_add(description as usize))
    };
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if entry(middle).0 <= address { low = middle } else { high = middle }
    }
    let (start, description) = entry(low);
    let is_inside = |at: usize| at >= object.start && at < object.end;
    (start <= address && is_inside(description)).then_some(description)
}

pub(super) fn common(at: usize, object: &Loaded) -> Option<Common> {
    if at < object.start || at >= object.end {
        return None;
    }
    let (_, mut bytes) = record(at, object.end)?;
    let (_id, version): (u32, u8) = (bytes.take()?, bytes.take()?);
    let mut augmentation = bytes;
    while bytes.take::<u8>()? != 0 {}
    let (code_unit, data_unit) = (bytes.unsigned()?, bytes.signed()?);
    let return_register =
        if version == 1 { u64::from(bytes.take::<u8>()?) } else { bytes.unsigned()? };
    if return_register != RIP as u64 {
        return None;
    }
    let mut common = Common {
        code_unit,
        data_unit,
        encoding: 0,
        has_augmentation: false,
        is_signal: false,
        program: bytes,
    };
    loop {
        match augmentation.take::<u8>()? {
            0 => return Some(common),
            b'z' => {
                common.has_augmentation = true;
                let length = bytes.unsigned()? as usize;
                common.program = bytes;
                common.program.skip(length)?;
            }
            b'R' => common.encoding = bytes.take()?,
            b'L' => _ = bytes.take::<u8>()?,
            b'P' => {
                let encoding: u8 = bytes.take()?;
                // (Its last bit says that a pointer to it is kept.)
                bytes.pointer(encoding & 0x0f, 0)?;
            }
            b'S' => common.is_signal = true,
            b'B' => {}
            _ => return None,
        }
    }
}
