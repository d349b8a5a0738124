package text

import "strings"

// stop are the function words of English. They stay findable, and count little: see StopWeight.
var stop = set(`
	a an the this that these those some any each every either neither both all such same other another own
	i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her
	hers herself it its itself they them their theirs themselves who whom whose which what one ones
	am is are was were be been being do does did doing done have has had having will would shall should can could
	may might must ought
	of in on at by for from to into onto with about against between through during before after above below up
	down out off over under again further upon within along across via per
	and or but nor so yet if then than because as until while although though since unless whether however
	not no never cannot when where why how here there now just only very too also even still more most much many
	few less least quite rather really
	i'm i've i'll i'd you're you've you'll you'd he's she's it's we're we've we'll we'd they're they've they'll
	they'd that's there's here's what's who's let's isn't aren't wasn't weren't don't doesn't didn't haven't
	hasn't hadn't won't wouldn't shan't shouldn't can't couldn't mightn't mustn't s t d ll m re ve`)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
