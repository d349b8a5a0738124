package postgres_test

import (
	"testing"

	"github.com/arc-learn/arc/act/queue/queuetest"
	"github.com/arc-learn/arc/store"
)

func TestQueueModel(t *testing.T) {
	database(t)
	queuetest.Run(t, func(t *testing.T) store.Store { return open(t, schema(t)) })
}
