"""Pictures of rebalance: allotments, who owned what when."""
