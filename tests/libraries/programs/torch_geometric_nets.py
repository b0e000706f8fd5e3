import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TopKPooling, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, softmax, to_undirected

torch.manual_seed(5)


def graph(nodes):
    edges = to_undirected(torch.randint(0, nodes, (2, 3 * nodes)))
    return Data(x=torch.randn(nodes, 6), edge_index=edges, y=torch.randint(0, 3, (1,)))


class Net(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first, self.second = layer(6, 12), layer(12, 12)
        self.out = torch.nn.Linear(12, 3)

    def forward(self, data):
        x = functional.relu(self.first(data.x, data.edge_index))
        x = functional.dropout(self.second(x, data.edge_index), 0.2, self.training)
        return self.out(global_mean_pool(x, data.batch))


def gin(width, out):
    return GINConv(
        torch.nn.Sequential(torch.nn.Linear(width, out), torch.nn.ReLU(), torch.nn.Linear(out, out))
    )


graphs = [graph(n) for n in (5, 7, 9, 6, 8, 10)]
print(degree(graphs[0].edge_index[0], 5).tolist(), add_self_loops(graphs[0].edge_index)[0].shape)
print(softmax(torch.arange(5.0), torch.tensor([0, 0, 1, 1, 1])))
for layer in (GCNConv, GATConv, SAGEConv, gin):
    net = Net(layer)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(2):
        for batch in DataLoader(graphs, batch_size=3, shuffle=True):
            loss = functional.cross_entropy(net(batch), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(layer.__name__, f"{loss.item():.6f}")
pool = TopKPooling(6, ratio=0.5)
x, edge_index, _, batch, perm, score = pool(graphs[2].x, graphs[2].edge_index)
print(tuple(x.shape), perm.tolist(), *(f"{v:.5f}" for v in score.tolist()))
