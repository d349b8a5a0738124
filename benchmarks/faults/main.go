// Command faults runs the tests that break machines under arc, as often as it is told, and sums up what came
// of it: kills, power cuts, full disks, missing descriptors and inodes, damaged files, outages.
//
//	GOWORK=off go run . [-rounds 10] [-only REGEXP]
//
// Each round is of another seed. The tests themselves say what must hold: nothing acknowledged is missing,
// damage is told, no finished step is made again, nothing is paid twice. Some need Linux and the right to
// mount a tmpfs, one PostgreSQL; what was skipped is said. A test that fails is printed whole, and the
// command fails.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// fault is a test, and how often its flag has a thing happen in a round.
type fault struct {
	what, dir, pkg, test string
	flag                 string // of the test; "": it has none
	each                 int
}

var faults = []fault{
	{"kill −9 of a store with eight writers", ".", "./store/badger", "TestKills", "rounds", 1},
	{"power cut: only what was synced stays", ".", "./store/badger", "TestPowerCuts", "rounds", 1},
	{"no file descriptors", ".", "./store/badger", "TestFewDescriptors", "rounds", 1},
	{"no inodes", ".", "./store/badger", "TestFewInodes", "rounds", 1},
	{"a disk that another process fills", ".", "./store/badger", "TestDiskFilledByAnother", "rounds", 1},
	{"files of a store damaged, flipped and cut", ".", "./store/badger", "TestDamage", "places", 1},
	{"kill −9 of a run at any step", ".", ".", "TestKill", "kills", 10},
	{"kill −9 or a halt of one of three processes", ".", ".", "TestKillOneOfThree", "kills", 10},
	{"kill −9 among a model's calls of tools", ".", "./act/tools", "TestKill", "kills", 10},
	{"kill −9 of workers of a queue", ".", "./act/queue", "TestKill", "", 0},
	{"a provider that is away", ".", ".", "TestOutage|TestSixMinutesAway", "", 0},
	{"PostgreSQL: kill −9 of one of three agents", "contrib/postgres", ".", "TestThreeAgents", "objectives", 30},
}

var (
	said    = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: (\d.*|map\[copies.*)$`) // figures
	skipped = regexp.MustCompile(`(?m)^--- SKIP`)
	rounded = regexp.MustCompile(`^\d+ rounds: `) // the column before says it
	tidy    = strings.NewReplacer("map[", "", "]", "", "|", "/")
)

func main() {
	log.SetFlags(0)
	rounds, only := flag.Int("rounds", 10, "of each fault"), flag.String("only", "", "faults whose test matches")
	flag.Parse()
	root, err := filepath.Abs("../..")
	if err != nil {
		log.Fatal(err)
	}
	match, failed := regexp.MustCompile(*only), 0
	fmt.Println("| fault | times | what came of it |\n|---|--:|---|")
	for _, f := range faults {
		if !match.MatchString(f.test) {
			continue
		}
		out, err := f.run(root, *rounds)
		came := "passed"
		if m := said.FindAllStringSubmatch(out, -1); m != nil {
			came, _, _ = strings.Cut(m[len(m)-1][1], ";") // what follows are errors that were told
			came = tidy.Replace(rounded.ReplaceAllString(came, ""))
		}
		switch {
		case err != nil:
			failed++
			came = "**FAILED**"
			fmt.Fprintln(os.Stderr, out)
		case skipped.MatchString(out):
			came = "skipped: " + came
		case strings.Contains(out, "no tests to run"):
			failed++
			came = "**there is no such test**"
		}
		times := "–"
		if f.flag != "" {
			times = fmt.Sprint(*rounds * f.each)
		}
		fmt.Printf("| %s | %s | %s |\n", f.what, times, came)
	}
	if failed > 0 {
		log.Fatal(failed, " failed")
	}
}

// run returns what the test says.
func (f fault) run(root string, rounds int) (string, error) {
	args := []string{"test", "-v", "-count=1", "-timeout=3h", "-run", "^(" + f.test + ")$", f.pkg}
	if f.flag != "" {
		args = append(args, "-args", "-"+f.flag, fmt.Sprint(rounds*f.each))
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = filepath.Join(root, f.dir), append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
