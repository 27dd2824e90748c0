//! The numbers and addresses that .eh_frame is made of.

use core::ptr::with_exposed_provenance;

/// Reads bytes of a mapped file.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) at: usize,
    pub(super) end: usize,
}

impl Bytes {
    pub(super) fn take<T: Copy>(&mut self) -> Option<T> {
        if self.end - self.at < size_of::<T>() {
            return None;
        }
        // SAFETY: in a segment of a file that is mapped while its code is on the stack.
        let value = unsafe { with_exposed_provenance::<T>(self.at).read_unaligned() };
        self.at += size_of::<T>();
        Some(value)
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        (count <= self.end - self.at).then(|| self.at += count)
    }

    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte: u8 = self.take()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0_i64, 0);
        loop {
            let byte: u8 = self.take()?;
            if shift < 64 {
                value |= i64::from(byte & 0x7f) << shift;
            }
            shift += 7;
            if byte & 0x80 == 0 {
                let negative = byte & 0x40 != 0 && shift < 64;
                return Some(if negative { value | -1 << shift } else { value });
            }
        }
    }

    /// An address in one of the encodings that .eh_frame has. `data` is what some count from.
    pub(super) fn pointer(&mut self, encoding: u8, data: usize) -> Option<usize> {
        let here = self.at;
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => self.take::<u64>()? as usize,
            0x01 => self.unsigned()? as usize,
            0x02 => self.take::<u16>()?.into(),
            0x03 => self.take::<u32>()? as usize,
            0x09 => self.signed()? as usize,
            0x0a => self.take::<i16>()? as usize,
            0x0b => self.take::<i32>()? as usize,
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value),
            0x10 => Some(here.wrapping_add(value)),
            0x30 => Some(data.wrapping_add(value)),
            _ => None,
        }
    }
}
