// Google's own in-memory Pub/Sub for Go as a server: prints where it listens and runs until it is ended.
package main

import (
	"fmt"

	"cloud.google.com/go/pubsub/v2/pstest"
)

func main() {
	fmt.Println("listening on " + pstest.NewServer().Addr)
	select {}
}
