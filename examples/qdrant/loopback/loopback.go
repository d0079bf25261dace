// Package loopback is a server that speaks a small part of Qdrant's gRPC protocol, for a machine
// without Qdrant: collections of points with one vector and a payload, compared by cosine. Vectors have
// the collection's length, and a query for a collection that does not exist is an error, as in Qdrant.
package loopback

import (
	"cmp"
	"context"
	"maps"
	"math"
	"net"
	"slices"
	"sync"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Server listens on a free port of the loopback interface.
type Server struct {
	Port int

	grpc *grpc.Server

	mu          sync.Mutex
	collections map[string]*collection
}

type collection struct {
	size   int
	points map[string]*qdrant.PointStruct // by UUID
}

// Start starts a server without collections.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		Port: listener.Addr().(*net.TCPAddr).Port, grpc: grpc.NewServer(), collections: make(map[string]*collection),
	}
	qdrant.RegisterCollectionsServer(s.grpc, collectionsService{s: s})
	qdrant.RegisterPointsServer(s.grpc, pointsService{s: s})
	go func() { _ = s.grpc.Serve(listener) }() // ends with Close
	return s, nil
}

// Close ends the server and the requests under way.
func (s *Server) Close() { s.grpc.Stop() }

// within calls f with a collection, which no other request uses meanwhile.
func (s *Server) within(name string, f func(c *collection) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.collections[name]
	if !ok {
		return status.Errorf(codes.NotFound, "Not found: Collection `%s` doesn't exist!", name)
	}
	return f(c)
}

type collectionsService struct {
	qdrant.UnimplementedCollectionsServer
	s *Server
}

func (c collectionsService) CollectionExists(
	_ context.Context, r *qdrant.CollectionExistsRequest,
) (*qdrant.CollectionExistsResponse, error) {
	err := c.s.within(r.CollectionName, func(*collection) error { return nil })
	return &qdrant.CollectionExistsResponse{Result: &qdrant.CollectionExists{Exists: err == nil}}, nil
}

func (c collectionsService) Create(_ context.Context, r *qdrant.CreateCollection) (*qdrant.CollectionOperationResponse, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	size := int(r.VectorsConfig.GetParams().GetSize())
	c.s.collections[r.CollectionName] = &collection{size: size, points: make(map[string]*qdrant.PointStruct)}
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

func (c collectionsService) Delete(_ context.Context, r *qdrant.DeleteCollection) (*qdrant.CollectionOperationResponse, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	delete(c.s.collections, r.CollectionName)
	return &qdrant.CollectionOperationResponse{Result: true}, nil
}

type pointsService struct {
	qdrant.UnimplementedPointsServer
	s *Server
}

// written answers a write. A program that does not wait for it may not find what it wrote.
func written(wait bool) (*qdrant.PointsOperationResponse, error) {
	if !wait {
		return nil, status.Error(codes.FailedPrecondition, "the write does not wait")
	}
	return &qdrant.PointsOperationResponse{Result: &qdrant.UpdateResult{Status: qdrant.UpdateStatus_Completed}}, nil
}

func (p pointsService) Upsert(_ context.Context, r *qdrant.UpsertPoints) (answer *qdrant.PointsOperationResponse, err error) {
	err = p.s.within(r.CollectionName, func(c *collection) error {
		for _, point := range r.Points {
			if got := len(vectorOf(point)); got != c.size {
				return status.Errorf(codes.InvalidArgument, "Wrong input: Vector dimension error: expected dim: %d, got %d", c.size, got)
			}
			c.points[point.GetId().GetUuid()] = point
		}
		answer, err = written(r.GetWait())
		return err
	})
	return answer, err
}

func (p pointsService) Delete(_ context.Context, r *qdrant.DeletePoints) (answer *qdrant.PointsOperationResponse, err error) {
	err = p.s.within(r.CollectionName, func(c *collection) error {
		for _, id := range r.GetPoints().GetPoints().GetIds() {
			delete(c.points, id.GetUuid())
		}
		answer, err = written(r.GetWait())
		return err
	})
	return answer, err
}

func (p pointsService) Scroll(_ context.Context, r *qdrant.ScrollPoints) (answer *qdrant.ScrollResponse, err error) {
	err = p.s.within(r.CollectionName, func(c *collection) error {
		answer = &qdrant.ScrollResponse{}
		for _, point := range c.sorted() {
			if point.GetId().GetUuid() < r.GetOffset().GetUuid() {
				continue
			}
			if len(answer.Result) == int(r.GetLimit()) {
				answer.NextPageOffset = point.Id
				break
			}
			answer.Result = append(answer.Result, &qdrant.RetrievedPoint{Id: point.Id, Payload: point.Payload})
		}
		return nil
	})
	return answer, err
}

func (p pointsService) Query(_ context.Context, r *qdrant.QueryPoints) (answer *qdrant.QueryResponse, err error) {
	query := r.GetQuery().GetNearest().GetDense().GetData()
	err = p.s.within(r.CollectionName, func(c *collection) error {
		answer = &qdrant.QueryResponse{}
		for _, point := range c.sorted() {
			score := cosine(query, vectorOf(point))
			answer.Result = append(answer.Result, &qdrant.ScoredPoint{Id: point.Id, Payload: point.Payload, Score: score})
		}
		slices.SortStableFunc(answer.Result, func(a, b *qdrant.ScoredPoint) int { return cmp.Compare(b.Score, a.Score) })
		answer.Result = answer.Result[:min(len(answer.Result), int(r.GetLimit()))]
		return nil
	})
	return answer, err
}

// sorted returns the points in the order of their ids.
func (c *collection) sorted() (points []*qdrant.PointStruct) {
	for _, id := range slices.Sorted(maps.Keys(c.points)) {
		points = append(points, c.points[id])
	}
	return points
}

func vectorOf(point *qdrant.PointStruct) []float32 { return point.GetVectors().GetVector().GetData() }

func cosine(a, b []float32) float32 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return float32(dot / math.Sqrt(aa*bb))
}
