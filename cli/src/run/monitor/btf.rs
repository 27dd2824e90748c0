//! What the kernel says of its own types (BTF, Documentation/bpf/btf.rst): as much as the monitor's
//! program needs.

use std::fs;

/// Where the running kernel describes itself.
const FILE: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
/// The header's length, as far as it is read here.
const HEADER: usize = 24;
/// A type's name, its kind, and its size or another type.
const TYPE: usize = 12;

const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNC_PROTO: u32 = 13;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
const DECL_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// What the program is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The type that names the tracepoint of the scheduler's switches.
    pub switch: u32,
    /// How far from its beginning a task's id is, in bytes.
    pub pid: i16,
}

pub fn find() -> Result<Found, String> {
    let bytes = fs::read(FILE).map_err(|error| format!("{FILE} can't be read: {error}"))?;
    find_in(&bytes).ok_or_else(|| format!("{FILE} doesn't describe the scheduler's switches"))
}

fn find_in(bytes: &[u8]) -> Option<Found> {
    let number = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let magic = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    if magic != MAGIC || (number(4)? as usize) < HEADER {
        return None;
    }
    let part = |at: usize| {
        let start = number(4)? as usize + number(at)? as usize;
        bytes.get(start..start + number(at + 4)? as usize)
    };
    let (types, names) = (Types(part(8)?), Names(part(16)?));
    let (mut switch, mut pid) = (None, None);
    let mut at = 0;
    // 0 is `void`, which isn't described.
    let mut id = 1;
    while at < types.0.len() {
        let described = types.at(at)?;
        let is_named = |name: &str| names.is(described.name, name);
        match described.kind {
            TYPEDEF if is_named("btf_trace_sched_switch") => switch = Some(id),
            STRUCT if is_named("task_struct") => {
                pid = pid.or_else(|| described.offset_of("pid", &names));
            }
            _ => {}
        }
        if let (Some(switch), Some(pid)) = (switch, pid) {
            return Some(Found { switch, pid });
        }
        at += TYPE + described.rest.len();
        id += 1;
    }
    None
}

struct Names<'a>(&'a [u8]);

impl Names<'_> {
    fn is(&self, at: u32, name: &str) -> bool {
        let rest = self.0.get(at as usize..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }
}

struct Types<'a>(&'a [u8]);

struct Described<'a> {
    name: u32,
    kind: u32,
    /// Members' places may hold a width as well.
    has_widths: bool,
    /// What the kind adds.
    rest: &'a [u8],
}

impl<'a> Types<'a> {
    fn at(&self, at: usize) -> Option<Described<'a>> {
        let bytes = self.0.get(at..)?;
        let number = |at| number(bytes, at);
        let (name, info) = (number(0)?, number(4)?);
        let (count, kind) = ((info & 0xffff) as usize, (info >> 24) & 0x1f);
        let length = match kind {
            INT | VAR | DECL_TAG => 4,
            ARRAY => 12,
            STRUCT | UNION | DATASEC | ENUM64 => 12 * count,
            ENUM | FUNC_PROTO => 8 * count,
            // Pointers, qualifiers, typedefs and the like. A kind of later kernels may be longer:
            // then no name is found that is looked for, or the kernel refuses the program.
            _ => 0,
        };
        let rest = bytes.get(TYPE..TYPE + length)?;
        Some(Described { name, kind, has_widths: info >> 31 == 1, rest })
    }
}

impl Described<'_> {
    /// How far from its beginning a structure has a member that is named so, in bytes.
    fn offset_of(&self, name: &str, names: &Names<'_>) -> Option<i16> {
        let member = self
            .rest
            .chunks(12)
            .find(|member| number(member, 0).is_some_and(|its| names.is(its, name)))?;
        let bits = number(member, 8)?;
        let bits = if self.has_widths { bits & 0xff_ffff } else { bits };
        i16::try_from(bits / 8).ok()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[u8] = b"\0int\0task_struct\0flags\0pid\0btf_trace_sched_switch\0pidx\0";

    fn name(name: &str) -> u32 {
        let ended = [name.as_bytes(), b"\0"].concat();
        NAMES.windows(ended.len()).position(|found| found == ended).unwrap() as u32
    }

    fn described(types: &[u32]) -> Vec<u8> {
        let types: Vec<u8> = types.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let (types_length, names_length) = (types.len() as u32, NAMES.len() as u32);
        let header = [24, 0, types_length, types_length, names_length];
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend(header.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(types);
        bytes.extend(NAMES);
        bytes
    }

    /// `int`, then a structure in which `pid` is at byte 8, then the tracepoint's type.
    fn kernel(struct_is: u32, place: u32) -> Vec<u32> {
        let mut types = vec![name("int"), INT << 24, 4, 32];
        types.extend([name("task_struct"), struct_is | 3, 16]);
        types.extend([name("flags"), 1, 0]);
        types.extend([name("pidx"), 1, 32]);
        types.extend([name("pid"), 1, place]);
        types.extend([name("btf_trace_sched_switch"), TYPEDEF << 24, 1]);
        types
    }

    #[test]
    fn finds_the_tracepoint_and_the_place_of_the_id() {
        let found = Some(Found { switch: 3, pid: 8 });
        assert_eq!(find_in(&described(&kernel(STRUCT << 24, 64))), found);
        let with_widths = kernel(1 << 31 | STRUCT << 24, 32 << 24 | 64);
        assert_eq!(find_in(&described(&with_widths)), found);
    }

    #[test]
    fn what_is_cut_off_or_says_nothing_of_it_is_refused() {
        let whole = described(&kernel(STRUCT << 24, 64));
        assert!((0..whole.len() - NAMES.len()).all(|end| find_in(&whole[..end]).is_none()));
        assert_eq!(find_in(&described(&kernel(UNION << 24, 64))), None);
    }

    #[test]
    fn this_kernel_is_understood_if_it_describes_itself() {
        if fs::exists(FILE).unwrap_or(false) {
            find().unwrap();
        }
    }
}
