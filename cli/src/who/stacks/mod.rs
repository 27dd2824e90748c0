//! Stacks of threads: where each function goes on, by name.

mod generated;
pub mod registers;
mod unwind;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::symbols::image::{Image, Place};
use crate::symbols::{Frame, Stack};
use crate::who::process::Process;
use crate::who::process::maps::Map;
use crate::who::process::stop;
use crate::who::process::task::{Call, Task};
use generated::Generated;
use registers::Registers;
use unwind::{Step, Stop};

/// More than any reader wants to see.
const DEEPEST: usize = 256;

/// Where the kernel has made a thread call a signal's handler.
const SIGNAL: &str = "<signal handler called>";

/// The files and functions seen so far: each is read once, for all threads and processes.
#[derive(Default)]
pub struct Symbols {
    images: HashMap<(String, u64), Option<Rc<Image>>>,
    vdso: HashMap<i32, Option<Rc<Image>>>,
    generated: HashMap<i32, Generated>,
    places: HashMap<(i32, u64), Rc<Vec<Place>>>,
}

impl Symbols {
    /// The stack of a thread. It is stopped for its registers only if there is no other way.
    pub fn stack(&mut self, process: &Process, task: &Task) -> Stack {
        let known = Registers::of_call(&task.call);
        let (mut stack, ended) = known.map_or_else(
            || (Stack::default(), Stop::Unknown),
            |registers| self.walk(process, registers),
        );
        let is_refused = is_refused(task, &stack);
        if ended == Stop::End && !is_refused {
            return stack;
        }
        let may_stop = process.may_stop && matches!(task.state, 'S' | 'R');
        let is_needed = ended == Stop::Unknown || is_refused;
        let stopped = (is_needed && may_stop && stop::is_harmless(&task.call))
            .then(|| stop::registers(task.tid))
            .flatten();
        let mut ended = ended;
        if let Some(registers) = stopped {
            (stack, ended) = self.walk(process, registers);
        }
        stack.ends_early = match ended {
            Stop::End => None,
            Stop::NoRules => Some("no unwinding information"),
            Stop::Unknown if matches!(task.call, Call::Running) => Some("it runs"),
            Stop::Unknown => Some("registers can't be had without disturbing the thread"),
        };
        stack
    }

    fn walk(&mut self, process: &Process, mut registers: Registers) -> (Stack, Stop) {
        let mut stack = Stack::default();
        let mut is_call = false;
        let ended = loop {
            if stack.frames.len() == DEEPEST {
                break Stop::End;
            }
            // A call's return address may be another function's.
            let code = registers.code - u64::from(is_call);
            let Some((found, map)) = self.image_at(process, code) else { break Stop::NoRules };
            let image = found.as_ref().and_then(|image| {
                let bias = map.start.wrapping_sub(image.address_of(map.offset, map.is_executable)?);
                Some((image, bias))
            });
            let step = match image {
                Some((image, bias)) => {
                    let address = code.wrapping_sub(bias);
                    let by_rules =
                        unwind::step(&registers, address, bias, &image.unwinding, process.memory);
                    match by_rules {
                        Err(Stop::NoRules) => unwind::step_by_frame(&registers, process.memory),
                        step => step,
                    }
                }
                None => unwind::step_by_frame(&registers, process.memory),
            };
            let address = image.map_or(code, |(_, bias)| code.wrapping_sub(bias));
            let end = step.as_ref().map_or(registers.stack(), |step| step.caller.stack());
            let mut places = self.places(process, code, address, found.as_ref());
            if places.is_empty() && step.as_ref().is_ok_and(|step| step.is_signal) {
                let function = SIGNAL.to_owned();
                places = Rc::new(vec![Place { function, ..Place::default() }]);
            }
            stack.frames.push(Frame {
                code,
                stack: (registers.stack(), end),
                preserved: registers.preserved().collect(),
                origin: found.as_ref().map(|image| image.origin.clone()),
                places,
                address,
            });
            match step {
                Ok(Step { caller, is_signal }) => (registers, is_call) = (caller, !is_signal),
                Err(ended) => break ended,
            }
        };
        // Where the frame pointers lead out of code, the stack has ended.
        let is_whole = ended == Stop::NoRules && stack.frames.len() > 1;
        (stack, if is_whole && registers.code < 4096 { Stop::End } else { ended })
    }

    /// The file that code comes from: none inside if it was generated.
    fn image_at<'p>(
        &mut self,
        process: &'p Process,
        code: u64,
    ) -> Option<(Option<Rc<Image>>, &'p Map)> {
        let map = process.map_of(code).filter(|map| map.is_executable)?;
        Some((self.image(process, map), map))
    }

    /// The file of a mapping, or the kernel's library.
    pub fn image(&mut self, process: &Process, map: &Map) -> Option<Rc<Image>> {
        if map.path == "[vdso]" {
            let image = || {
                let length = usize::try_from(map.end - map.start).ok()?;
                let data = process.memory.range(map.start, length)?.leak();
                Image::parse(data, "vdso", Path::new("/")).map(Rc::new)
            };
            return self.vdso.entry(process.pid).or_insert_with(image).clone();
        }
        if map.file.1 == 0 || !map.path.starts_with('/') {
            return None;
        }
        let open = || {
            let root = process.path("/");
            let path = map.path.strip_suffix(" (deleted)");
            let by_path = || is_same(&process.path(&map.path), map.file.1);
            let by_map = || {
                let range = format!("{:x}-{:x}", map.start, map.end);
                PathBuf::from(format!("/proc/{}/map_files/{range}", process.pid))
            };
            let by_exe = || {
                let exe = PathBuf::from(format!("/proc/{}/exe", process.pid));
                is_same(&exe, map.file.1)
            };
            let file = by_path().or_else(by_exe).unwrap_or_else(by_map);
            Image::open(&file, path.unwrap_or(&map.path), &root).map(Rc::new)
        };
        self.images.entry(map.file.clone()).or_insert_with(open).clone()
    }

    /// The symbol of a static object.
    pub fn object(&mut self, process: &Process, address: u64) -> Option<String> {
        let at = process.maps.iter().position(|map| map.start <= address && address < map.end)?;
        // What isn't in the file (.bss) lies right behind what is.
        let mut map = &process.maps[at];
        for earlier in process.maps[..at].iter().rev().take(2) {
            if map.file.1 != 0 || earlier.end != map.start || !map.path.is_empty() {
                break;
            }
            map = earlier;
        }
        let image = self.image(process, map)?;
        let bias = map.start.wrapping_sub(image.address_of(map.offset, map.is_executable)?);
        image.object(address.wrapping_sub(bias))
    }

    fn places(
        &mut self,
        process: &Process,
        code: u64,
        address: u64,
        image: Option<&Rc<Image>>,
    ) -> Rc<Vec<Place>> {
        let generated = &mut self.generated;
        let find = || {
            Rc::new(image.map_or_else(
                || {
                    let list = generated.entry(process.pid);
                    let list = list.or_insert_with(|| Generated::of(process));
                    list.place(code).into_iter().collect()
                },
                |image| image.places(address),
            ))
        };
        self.places.entry((process.pid, code)).or_insert_with(find).clone()
    }
}

/// Whether glibc has the thread wait for ever, on a word of its own stack, for a mutex that the
/// kernel refused to lock: only its registers say for which.
fn is_refused(task: &Task, stack: &Stack) -> bool {
    const NEAR: u64 = 1024;
    let Call::In { number: libc::SYS_futex, arguments, stack: top, .. } = &task.call else {
        return false;
    };
    let mut names = stack.frames.iter().take(4).flat_map(|frame| frame.places.iter());
    (*top..*top + NEAR).contains(&arguments[0])
        && names.any(|place| place.function.contains("pthread_mutex_lock"))
}

fn is_same(path: &Path, inode: u64) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    (path.metadata().ok()?.ino() == inode).then(|| path.to_owned())
}
