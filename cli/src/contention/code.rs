//! The functions and static objects of a process that may have ended, by the files it had mapped.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use crate::record::Part;
use crate::record::entries::Module;
use crate::symbols::image::{Image, Place};
use crate::symbols::{Frame, Origin, Stack, makers};

/// Files that were opened for any of a record's processes, and what was found in them.
#[derive(Default)]
pub struct Images {
    files: HashMap<(String, Option<String>), Option<Rc<Image>>>,
    found: Rc<RefCell<Found>>,
}

/// By the image and the address in it.
#[derive(Default)]
struct Found {
    places: HashMap<(*const Image, u64), Rc<Vec<Place>>>,
    objects: HashMap<(*const Image, u64), Option<String>>,
}

/// One process's code.
pub struct Code<'p> {
    part: &'p Part,
    modules: Vec<Loaded<'p>>,
    found: Rc<RefCell<Found>>,
}

struct Loaded<'p> {
    module: &'p Module,
    /// None if the file has gone, or is another by now.
    image: Option<Rc<Image>>,
    origin: Rc<Origin>,
}

impl Images {
    fn open(&mut self, module: &Module) -> Option<Rc<Image>> {
        let open = || {
            let image = Image::open(Path::new(&module.path), &module.path, Path::new("/"))?;
            let is_it = module.build_id.is_none() || image.origin.build_id == module.build_id;
            is_it.then(|| Rc::new(image))
        };
        let key = (module.path.clone(), module.build_id.clone());
        self.files.entry(key).or_insert_with(open).clone()
    }
}

impl<'p> Code<'p> {
    pub fn of(part: &'p Part, images: &mut Images) -> Self {
        let load = |module: &'p Module| {
            let name = module.path.rsplit('/').next().unwrap_or(&module.path);
            let name = if name.is_empty() { "?" } else { name }.to_owned();
            let origin = Rc::new(Origin { name, build_id: module.build_id.clone() });
            Loaded { module, image: images.open(module), origin }
        };
        let modules = part.modules.iter().map(load).collect();
        Self { part, modules, found: images.found.clone() }
    }

    /// A stack by its key; empty if it isn't known.
    pub fn stack(&mut self, key: u32) -> Stack {
        let Some(found) = self.part.stacks.get(&key) else { return Stack::default() };
        // Each address is the one behind a call.
        let frames = found.frames.iter().map(|code| self.frame(code.wrapping_sub(1))).collect();
        Stack { frames, ends_early: found.is_cut.then_some("deeper than what is recorded") }
    }

    fn frame(&mut self, code: u64) -> Frame {
        let loaded = self.modules.iter().find(|loaded| loaded.contains(code));
        let address = loaded.map_or(code, |loaded| code.wrapping_sub(loaded.module.bias));
        let origin = loaded.map(|loaded| loaded.origin.clone());
        let image = loaded.and_then(|loaded| loaded.image.clone());
        let places = image.map_or_else(Rc::default, |image| {
            let mut found = self.found.borrow_mut();
            let places = found.places.entry((Rc::as_ptr(&image), address));
            places.or_insert_with(|| Rc::new(image.places(address))).clone()
        });
        Frame { code, stack: (0, 0), preserved: Vec::new(), origin, places, address }
    }

    /// The symbol of a static object.
    pub fn symbol(&self, address: u64) -> Option<String> {
        let (loaded, address) = self.module(address)?;
        let image = loaded.image.as_ref()?;
        let mut found = self.found.borrow_mut();
        let object = found.objects.entry((Rc::as_ptr(image), address));
        object.or_insert_with(|| image.object(address)).clone()
    }

    /// Where in which file a static object is.
    pub fn file(&self, address: u64) -> Option<String> {
        let (loaded, address) = self.module(address)?;
        Some(format!("{}+{address:#x}", loaded.origin.name))
    }

    /// The file that has the address, and the address in it.
    fn module(&self, address: u64) -> Option<(&Loaded<'p>, u64)> {
        let loaded = self.modules.iter().find(|loaded| loaded.contains(address))?;
        Some((loaded, address.wrapping_sub(loaded.module.bias)))
    }

    /// Where an object was made, by the key of the stack that made it.
    pub fn maker(&mut self, made_by: u32) -> Option<String> {
        makers::maker(&self.stack(made_by))
    }
}

impl Loaded<'_> {
    fn contains(&self, address: u64) -> bool {
        (self.module.start..self.module.end).contains(&address)
    }
}
