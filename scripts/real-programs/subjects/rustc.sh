# A compiler: rustc generates code in as many threads as there are units, with a queue and the
# tokens of its jobserver. Its output doesn't depend on the order of the threads.
title="rustc -O, 16 units"
needs="rustc python3"
packages=python3
prepare() {
    python3 - "$folder/units.rs" "$(by_size 6 24)" <<'PYTHON'
import sys
with open(sys.argv[1], "w") as out:
    for unit in range(int(sys.argv[2])):
        print(f"""
pub mod unit_{unit} {{
    use std::collections::{{BTreeMap, HashMap}};
    #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct Item {{ pub name: String, pub parts: Vec<u{8 << unit % 4}>, pub rank: i64 }}
    pub fn sorted(mut items: Vec<Item>) -> Vec<Item> {{ items.sort(); items.dedup(); items }}
    pub fn by_rank(items: &[Item]) -> BTreeMap<i64, Vec<Item>> {{
        let mut map = BTreeMap::<_, Vec<Item>>::new();
        items.iter().for_each(|item| map.entry(item.rank ^ {unit}).or_default().push(item.clone()));
        map
    }}
    pub fn counted(items: &[Item]) -> HashMap<Item, usize> {{
        let mut map = HashMap::new();
        items.iter().for_each(|item| *map.entry(item.clone()).or_insert({unit}) += 1);
        map
    }}
}}""", file=out)
PYTHON
}
run() {
    # Paths in the output have to be the same on both sides.
    cd "$mine"
    cp ../units.rs .
    on_side rustc --edition 2021 --crate-type lib --emit obj -O -C codegen-units=16 \
        -o units.o units.rs
    cksum units*.o
}
