// Package control is how commands reach the running service, which alone has the history open: HTTP with JSON on the unix socket
// control.sock in the state folder. The service starts a Server on its Monitor, a command uses a Client. It lies below monitor
// because it is that package's door for people, and knows nothing else; what it says is about baselines and pauses.
//
// It promises:
//
//   - Only the user of the service, and root, get an answer: the socket has mode 0600, and who calls is asked for again.
//   - A socket that a killed service left behind is replaced. Anything else of that name is left alone.
//   - A Client never waits without limit, and says when no service is there.
//   - Nothing here touches a disk other than that of the state folder.
package control
