//! Fields of an entry by their places in it. What isn't there is 0.

#[derive(Clone, Copy)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn u32(self, at: usize) -> u32 {
        self.array(at).map_or(0, u32::from_ne_bytes)
    }

    pub fn u64(self, at: usize) -> u64 {
        self.array(at).map_or(0, u64::from_ne_bytes)
    }

    /// Up to `length` bytes of a field that holds `size`.
    pub fn text(self, at: usize, length: u32, size: usize) -> &'a [u8] {
        let length = usize::try_from(length).map_or(size, |length| length.min(size));
        self.0.get(at..at + length).unwrap_or(&[])
    }

    /// The part that begins at `at`.
    pub fn from(self, at: usize) -> Bytes<'a> {
        Bytes(self.0.get(at..).unwrap_or(&[]))
    }

    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }
}
