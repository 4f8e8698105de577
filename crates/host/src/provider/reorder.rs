//! The order of one stream: which chunk is next, which is too early, and where the stream ends. Knows no
//! time and no task.

use std::collections::BTreeMap;

use reasonix_extension_protocol::types::{ProviderChunk, StreamEndParams};

/// How far ahead of the next chunk another may be.
pub(super) const WINDOW: u64 = 256;

/// Puts the chunks of one stream in order.
#[derive(Debug)]
pub(super) struct Reorder {
    /// Number of the chunk that is delivered next.
    next: u64,
    /// Chunks that came too early.
    early: BTreeMap<u64, ProviderChunk>,
    /// What the end of the stream says, once it has come.
    end: Option<StreamEndParams>,
}

impl Reorder {
    pub(super) fn new() -> Self {
        Self {
            next: 1,
            early: BTreeMap::new(),
            end: None,
        }
    }

    /// Takes a chunk; gives those that are delivered now, in order.
    pub(super) fn chunk(
        &mut self,
        seq: u64,
        chunk: ProviderChunk,
    ) -> Result<Vec<ProviderChunk>, String> {
        if let Some(end) = &self.end
            && seq > end.last_seq
        {
            let last = end.last_seq;
            return Err(format!("chunk {seq} came behind the frozen end at {last}"));
        }
        if seq < self.next {
            // It was delivered before.
            return Ok(Vec::new());
        }
        if seq >= self.next + WINDOW {
            let next = self.next;
            return Err(format!(
                "chunk {seq} is more than {WINDOW} ahead of chunk {next}, which is missing"
            ));
        }
        if seq > self.next {
            // The first of two copies stays.
            self.early.entry(seq).or_insert(chunk);
            return Ok(Vec::new());
        }
        let mut run = vec![chunk];
        self.next += 1;
        while let Some(chunk) = self.early.remove(&self.next) {
            run.push(chunk);
            self.next += 1;
        }
        Ok(run)
    }

    /// Takes the end, of which the first stays.
    pub(super) fn end(&mut self, end: StreamEndParams) -> Result<(), String> {
        match &self.end {
            Some(known) if *known == end => return Ok(()),
            Some(known) => {
                let (first, second) = (known.last_seq, end.last_seq);
                return Err(format!(
                    "a second end, at chunk {second}, is another than the first, at chunk {first}"
                ));
            }
            None => {}
        }
        let last = end.last_seq;
        let newest = self.early.last_key_value().map(|(seq, _)| *seq);
        let newest = newest.unwrap_or(self.next - 1);
        if newest > last {
            return Err(format!("chunk {newest} came before the end at {last}"));
        }
        self.end = Some(end);
        Ok(())
    }

    /// The end, once every chunk before it is delivered.
    pub(super) fn ended(&self) -> Option<&StreamEndParams> {
        self.end.as_ref().filter(|end| end.last_seq < self.next)
    }

    /// What is missing while something behind it has come: the number, and that of the last one if it is
    /// known.
    pub(super) fn gap(&self) -> Option<(u64, Option<u64>)> {
        let last = self.end.as_ref().map(|end| end.last_seq);
        let open = !self.early.is_empty() || last.is_some_and(|last| last >= self.next);
        open.then_some((self.next, last))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reasonix_extension_protocol::types::{ChunkType, StreamId};

    use super::*;

    fn chunk(seq: u64) -> ProviderChunk {
        ProviderChunk::new(ChunkType::Text).with_text(seq.to_string())
    }

    fn end(last: u64) -> StreamEndParams {
        StreamEndParams::new(StreamId::new("s").unwrap(), last)
    }

    fn numbers(run: &[ProviderChunk]) -> Vec<u64> {
        let texts = run.iter().filter_map(|chunk| chunk.text.as_deref());
        texts.map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn what_comes_early_waits_and_what_comes_twice_is_dropped() {
        let mut order = Reorder::new();
        assert!(numbers(&order.chunk(2, chunk(2)).unwrap()).is_empty());
        // Another copy of what waits.
        assert!(numbers(&order.chunk(2, chunk(99)).unwrap()).is_empty());
        assert_eq!(order.gap(), Some((1, None)));
        assert_eq!(numbers(&order.chunk(1, chunk(1)).unwrap()), [1, 2]);
        assert!(numbers(&order.chunk(1, chunk(98)).unwrap()).is_empty());
        assert_eq!(order.gap(), None);
        order.end(end(3)).unwrap();
        assert_eq!((order.gap(), order.ended()), (Some((3, Some(3))), None));
        assert_eq!(numbers(&order.chunk(3, chunk(3)).unwrap()), [3]);
        assert_eq!(order.ended(), Some(&end(3)));
        // Said twice is said once.
        order.end(end(3)).unwrap();
    }

    #[test]
    fn the_window_and_the_end_are_bounds() {
        let mut order = Reorder::new();
        order.chunk(WINDOW, chunk(WINDOW)).unwrap();
        let error = order.chunk(WINDOW + 1, chunk(0)).unwrap_err();
        assert!(
            error.contains("chunk 257") && error.contains("chunk 1"),
            "{error}"
        );

        let mut order = Reorder::new();
        order.chunk(2, chunk(2)).unwrap();
        assert!(order.end(end(1)).unwrap_err().contains("chunk 2"));
        order.end(end(2)).unwrap();
        assert!(
            order
                .chunk(3, chunk(3))
                .unwrap_err()
                .contains("frozen end at 2")
        );
        assert!(order.end(end(4)).unwrap_err().contains("another"));

        // An end before what was delivered.
        let mut order = Reorder::new();
        order.chunk(1, chunk(1)).unwrap();
        assert!(order.end(end(0)).unwrap_err().contains("chunk 1"));

        let mut order = Reorder::new();
        order.end(end(0)).unwrap();
        assert_eq!(order.ended(), Some(&end(0)));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_delivered_once_and_in_order(
            last in 0..60_u64,
            // Which of the chunks come, in which order, some twice.
            arrivals in prop::collection::vec(1..60_u64, 0..200),
            end_at in 0..200_usize,
        ) {
            let mut order = Reorder::new();
            let mut delivered = Vec::new();
            let mut came = std::collections::BTreeSet::new();
            let mut ended = false;
            for (index, seq) in arrivals.iter().filter(|seq| **seq <= last).enumerate() {
                if index == end_at {
                    order.end(end(last)).unwrap();
                    ended = true;
                }
                came.insert(*seq);
                delivered.extend(numbers(&order.chunk(*seq, chunk(*seq)).unwrap()));
            }
            if !ended {
                order.end(end(last)).unwrap();
            }
            // As far as nothing is missing, and no further.
            let whole = (1..=last).take_while(|seq| came.contains(seq)).last().unwrap_or(0);
            prop_assert_eq!(&delivered, &(1..=whole).collect::<Vec<_>>());
            prop_assert_eq!(order.ended().is_some(), whole == last);
            let missing = (whole < last).then_some((whole + 1, Some(last)));
            prop_assert_eq!(order.gap(), missing);
        }
    }
}
