//! Cycles of a graph, without recursion: a chain of ten thousand types must not overflow a stack.

#![expect(
    clippy::indexing_slicing,
    reason = "nodes are indices below the number of nodes, and all lists have one entry a node"
)]

/// For each node, whether it lies on a cycle. `edges[n]` are the successors of `n`.
pub(crate) fn on_cycle(edges: &[Vec<usize>]) -> Vec<bool> {
    let component = components(edges);
    let mut size = vec![0usize; edges.len()];
    for &id in &component {
        if let Some(count) = size.get_mut(id) {
            *count += 1;
        }
    }
    edges
        .iter()
        .zip(&component)
        .enumerate()
        .map(|(node, (targets, id))| {
            size.get(*id).is_some_and(|&count| count > 1) || targets.contains(&node)
        })
        .collect()
}

/// For each node, the id of its strongly connected component (Tarjan's algorithm, with an explicit
/// stack).
pub(crate) fn components(edges: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut index = vec![UNSEEN; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut component = vec![UNSEEN; edges.len()];
    let mut open = Vec::new();
    let mut next_index = 0;
    let mut next_component = 0;
    for root in 0..edges.len() {
        if index[root] != UNSEEN {
            continue;
        }
        // A node and how many of its edges are done.
        let mut stack = vec![(root, 0)];
        while let Some((node, done)) = stack.last_mut() {
            let node = *node;
            if *done == 0 {
                index[node] = next_index;
                low[node] = next_index;
                next_index += 1;
                open.push(node);
            }
            if let Some(&target) = edges[node].get(*done) {
                *done += 1;
                if index[target] == UNSEEN {
                    stack.push((target, 0));
                } else if component[target] == UNSEEN {
                    low[node] = low[node].min(index[target]);
                }
                continue;
            }
            stack.pop();
            if let Some((parent, _)) = stack.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::on_cycle;

    #[test]
    fn only_nodes_between_which_a_way_leads_there_and_back_are_on_a_cycle() {
        let edges = [vec![1], vec![2, 3], vec![1], vec![4], vec![4], vec![]];
        assert_eq!(on_cycle(&edges), [false, true, true, false, true, false]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let edges: Vec<Vec<usize>> = (1..200_000).map(|n| vec![n]).chain([vec![]]).collect();
        assert!(on_cycle(&edges).iter().all(|on| !on));
    }
}
