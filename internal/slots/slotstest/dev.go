package slotstest

// dev are the phrasings that the parser was tuned on.
var dev = map[string]phrasings{
	"residence": {
		state: []string{
			"{S} lives in {U}.",
			"{S} currently lives in {U} with {his} family.",
			"{S} is based in {U}.",
			"{S}'s place of residence is {U}.",
			"{S} calls {U} home.",
			"{S}: lives in {U}",
		},
		change: []string{
			"{S} moved to {V}.",
			"{S} has moved to {V} last month.",
			"{S} now lives in {V}.",
			"Update: {S} lives in {V} now.",
			"{S} relocated from {U} to {V}.",
			"As of March, {S} is based in {V}.",
			"{S} used to live in {U}, but now {he} lives in {V}.",
			"{S} no longer lives in {U}. {He} moved to {V}.",
			"{S} told me that {he} has moved to {V}.",
		},
		ask: []string{"Where does {S} live?", "Which city does {S} live in now?", "Where is {S} based?", "Where is {S}'s home?"},
	},
	"employer": {
		state: []string{
			"{S} works at {U}.",
			"{S} is working for {U}.",
			"{S}'s employer is {U}.",
			"The company {S} works for is {U}.",
		},
		change: []string{
			"{S} joined {V}.",
			"{S} left {U} for {V}.",
			"{S} now works at {V}.",
			"{S} started working at {V} in June.",
			"{S} switched from {U} to {V} as employer.",
			"{S} has a new job at {V}.",
		},
		ask: []string{"Where does {S} work?", "What company does {S} work for?", "Which employer does {S} have now?"},
	},
	"role": {
		state:  []string{"{S} works as {a U}.", "{S} is {a U}.", "{S}'s job title is {U}.", "{S}'s role is {U}."},
		change: []string{"{S} has been promoted to {V}.", "{S} became {a V}.", "{S}'s role is now {V}.", "{S} now works as {a V}.", "{S} got promoted from {U} to {V}."},
		ask:    []string{"What is {S}'s role?", "What does {S} work as?", "What is {S}'s job title?"},
	},
	"phone": {
		state:  []string{"{S}'s phone number is {U}.", "{S} can be reached at {U}.", "{S}'s cell is {U}."},
		change: []string{"{S}'s phone number is now {V}.", "{S} changed {his} phone number to {V}.", "{S}'s new number is {V}.", "{S} has a new phone number, {V}.", "{S}'s phone number changed from {U} to {V}."},
		ask:    []string{"What is {S}'s phone number?", "How can I reach {S} by phone?"},
	},
	"email": {
		state:  []string{"{S}'s email is {U}.", "{S}'s email address is {U}.", "Email of {S}: {U}"},
		change: []string{"{S}'s new email address is {V}.", "{S}'s email was changed to {V}.", "{S} switched {his} email from {U} to {V}.", "{S} now uses {V} as {his} email."},
		ask:    []string{"What is {S}'s email address?", "Which email does {S} use?"},
	},
	"favourite": {
		state:  []string{"{S}'s favourite {A} is {U}.", "{S}'s favorite {A} is {U}.", "{S} has {U} as {his} favourite {A}."},
		change: []string{"{S}'s favourite {A} is now {V}.", "{S} changed {his} favourite {A} to {V}.", "{S}'s new favorite {A} is {V}.", "{S}'s favourite {A} used to be {U}, now it is {V}.", "{V} is now {S}'s favourite {A}.", "Actually, {S}'s favourite {A} is {V}, not {U}."},
		ask:    []string{"What is {S}'s favourite {A}?", "What is {S}'s favorite {A} now?"},
	},
	"price": {
		state:  []string{"{S} costs {U}.", "The price of {S} is {U}.", "{S} is priced at {U}.", "{S}'s price: {U}"},
		change: []string{"{S} now costs {V}.", "The price of {S} has changed to {V}.", "The price of {S} rose from {U} to {V}.", "{S}'s price went up to {V}.", "The cost of {S} is {V} now."},
		ask:    []string{"How much does {S} cost?", "What is the price of {S}?"},
	},
	"version": {
		state:  []string{"The version of {S} is {U}.", "{S} is on version {U}.", "We run {S} {U}.", "{S}'s version is {U}."},
		change: []string{"{S} was upgraded to {V}.", "{S} is now on version {V}.", "The version of {S} is now {V}.", "We upgraded {S} to {V}.", "{S} was updated from {U} to {V}."},
		ask:    []string{"What version is {S} on?", "Which version of {S} is used?"},
	},
	"deadline": {
		state:  []string{"The deadline of {S} is {U}.", "{S} is due on {U}.", "The deadline for {S} is {U}.", "{S}'s deadline: {U}"},
		change: []string{"The deadline for {S} moved to {V}.", "The deadline of {S} was extended to {V}.", "{S} is now due {V}.", "The deadline for {S} has been postponed from {U} to {V}.", "We pushed the deadline of {S} to {V}."},
		ask:    []string{"When is the deadline of {S}?", "What is the deadline for {S}?", "When is {S} due?"},
	},
	"meeting": {
		state:  []string{"{S} is on {U}.", "{S} is scheduled for {U}.", "{S} is every {U}."},
		change: []string{"{S} has been moved to {V}.", "{S} was rescheduled from {U} to {V}.", "{S} is now on {V}.", "{S} will be on {V} instead of {U}.", "We postponed {S} to {V}."},
		ask:    []string{"When is {S}?", "What day is {S}?", "When is {S} scheduled?"},
	},
	"tool": {
		state:  []string{"{S} uses {U} as {his} {A}.", "{S}'s {A} is {U}.", "{S} prefers {U} as {A}.", "For {his} {A} {S} uses {U}."},
		change: []string{"{S} switched from {U} to {V} as {his} {A}.", "{S} switched {his} {A} to {V}.", "{S} now uses {V} as {his} {A}.", "{S}'s {A} is now {V} instead of {U}.", "{S} changed {his} {A} from {U} to {V}."},
		ask:    []string{"Which {A} does {S} use?", "What {A} does {S} prefer?"},
	},
	"status": {
		state:  []string{"The status of {S} is {U}.", "{S} is {U}.", "{S} status: {U}", "{S}'s status is {U}."},
		change: []string{"{S} is now {V}.", "The status of {S} changed from {U} to {V}.", "{S}'s status is now {V}.", "{S} moved from {U} to {V}."},
		ask:    []string{"What is the status of {S}?", "What status has {S} now?"},
	},
	"owner": {
		state:  []string{"The owner of {S} is {U}.", "{U} owns {S}.", "{U} is responsible for {S}.", "{S} belongs to {U}."},
		change: []string{"{V} now owns {S}.", "{S} is now owned by {V}.", "{V} took over {S}.", "{U} handed {S} over to {V}.", "The owner of {S} changed from {U} to {V}."},
		ask:    []string{"Who owns {S}?", "Who is the owner of {S}?"},
	},
	"lead": {
		state:  []string{"{U} leads {S}.", "The lead of {S} is {U}.", "{U} is the lead of {S}.", "{S} is led by {U}."},
		change: []string{"{V} is now the lead of {S}.", "{V} took over as lead of {S}.", "The lead of {S} is now {V}.", "{V} leads {S} now."},
		ask:    []string{"Who leads {S}?", "Who is the lead of {S} now?"},
	},
	"manager": {
		state:  []string{"{S}'s manager is {U}.", "{S} reports to {U}.", "{U} is {S}'s manager."},
		change: []string{"{S} now reports to {V}.", "{S}'s manager is now {V}.", "{S}'s new manager is {V}.", "{S} has a new manager: {V}."},
		ask:    []string{"Who is {S}'s manager?", "Who does {S} report to?"},
	},
	"config": {
		state:  []string{"{S} is set to {U}.", "{S} is {U}.", "{S}: {U}", "{S} defaults to {U}."},
		change: []string{"{S} is now {V}.", "{S} was changed to {V}.", "{S} was changed from {U} to {V}.", "We set {S} to {V}.", "{S} is now set to {V}.", "Changed {S} from {U} to {V}."},
		ask:    []string{"What is {S}?", "What is the value of {S}?"},
	},
	"port": {
		state:  []string{"{S} listens on port {U}.", "{S}'s port is {U}.", "{S} uses port {U}."},
		change: []string{"{S} now listens on port {V}.", "{S}'s port is now {V}.", "The port of {S} was changed to {V}.", "{S} now runs on port {V}."},
		ask:    []string{"Which port does {S} use?", "What is the port of {S}?"},
	},
	"command": {
		state:  []string{"To {A}, run `{U}`.", "Use `{U}` to {A}.", "Run `{U}` to {A}."},
		change: []string{"To {A}, now run `{V}`.", "Use `{V}` instead of `{U}` to {A}.", "To {A}, use `{V}` now.", "The command to {A} is now `{V}`."},
		ask:    []string{"How do you {A}?", "What is the command to {A}?"},
	},
	"children": {
		state:  []string{"{S} has {U} children.", "{S} has got {U} kids."},
		change: []string{"{S} has {V} children now.", "{S} now has {V} kids.", "As of today {S} has {V} children."},
		ask:    []string{"How many children does {S} have?"},
	},
	"age": {
		state:  []string{"{S} is {U} years old.", "{S}'s age is {U}.", "{S} is {U}."},
		change: []string{"{S} turned {V}.", "{S} is now {V} years old.", "{S}'s age is now {V}.", "{S} is {V} years old now."},
		ask:    []string{"How old is {S}?", "What is {S}'s age?"},
	},
	"marital": {
		state:  []string{"{S} is {U}.", "{S} is currently {U}."},
		change: []string{"{S} is now {V}.", "{S} got {V}.", "{S} is no longer {U} but {V}."},
		ask:    []string{"Is {S} {U}?", "What is the marital status of {S}?"},
	},
	"generic": {
		state:  []string{"{S}'s {A} is {U}.", "The {A} of {S} is {U}.", "{S} {A}: {U}", "{A} of {S}: {U}"},
		change: []string{"{S}'s {A} is now {V}.", "The {A} of {S} is now {V}.", "{S}'s {A} changed from {U} to {V}.", "{S}'s {A} has changed: it's {V} now.", "{S}'s new {A} is {V}.", "Update: {S}'s {A} is {V}.", "As of May, the {A} of {S} is {V}.", "{S}'s {A} is no longer {U}; it is {V}.", "Changed {S}'s {A} from {U} to {V}.", "{S} changed {his} {A} to {V}.", "{S}'s {A} is {V} instead of {U}.", "{S}'s {A} was {U}, but is now {V}."},
		ask:    []string{"What is {S}'s {A}?", "What is the {A} of {S}?", "Which {A} does {S} have now?"},
	},
	"car": {
		state:  []string{"{S} drives a {U}.", "{S}'s car is a {U}."},
		change: []string{"{S} now drives a {V}.", "{S} drives a {V} instead of {his} {U}.", "{S}'s car is now a {V}."},
		ask:    []string{"What car does {S} drive?", "What does {S} drive?"},
	},
	"school": {
		state:  []string{"{S} studies at {U}.", "{S} goes to {U} for school.", "{S}'s school is {U}."},
		change: []string{"{S} transferred to {V}.", "{S} now attends {V}.", "{S}'s school is now {V}."},
		ask:    []string{"Which school does {S} attend?", "Where does {S} go to school?"},
	},
	"url": {
		state:  []string{"{S} is at {U}.", "The URL of {S} is {U}.", "{S} lives at {U}."},
		change: []string{"{S} moved to {V}.", "The URL of {S} is now {V}.", "{S} can now be found at {V}."},
		ask:    []string{"What is the URL of {S}?", "Where is {S}?"},
	},
	"path": {
		state:  []string{"{S} is in {U}.", "{S} is stored in {U}.", "The location of {S} is {U}."},
		change: []string{"{S} was moved to {V}.", "{S} is now in {V}.", "The location of {S} is now {V}.", "{S} is now stored in {V}."},
		ask:    []string{"Where is {S}?", "What is the location of {S}?", "Where is {S} stored?"},
	},
	"hours": {
		state:  []string{"{S} opens at {U}.", "{S} usually opens at {U}."},
		change: []string{"{S} now opens at {V}.", "{S} opens at {V} from now on."},
		ask:    []string{"When does {S} open?"},
	},
	"plan": {
		state:  []string{"{S} is on the {U} plan.", "{S}'s plan is {U}."},
		change: []string{"{S} upgraded to the {V} plan.", "{S} is now on the {V} plan.", "{S}'s plan was changed to {V}."},
		ask:    []string{"Which plan is {S} on?"},
	},
	"team": {
		state:  []string{"{S} is on the {U} team.", "{S} works on the {U} team."},
		change: []string{"{S} moved to the {V} team.", "{S} is now on the {V} team.", "{S}'s team is now {V}."},
		ask:    []string{"Which team is {S} on?"},
	},
	"pet": {
		state:  []string{"{S}'s {A} is called {U}.", "{S}'s {A}'s name is {U}.", "{S}'s {A} is named {U}."},
		change: []string{"{S}'s {A} was renamed to {V}.", "{S}'s {A}'s name is now {V}.", "{S}'s {A} is named {V} now."},
		ask:    []string{"What is the name of {S}'s {A}?", "What is {S}'s {A} called?"},
	},
	"first": {
		state:  []string{"I live in {U}.", "I'm based in {U}.", "By the way, I live in {U}."},
		change: []string{"I moved to {V}.", "I live in {V} now.", "I just moved from {U} to {V}.", "I don't live in {U} anymore, I moved to {V}.", "I have recently moved to {V}."},
		ask:    []string{"Where do I live?", "Which city do I live in?"},
	},
	"firstjob": {
		state:  []string{"I work at {U}.", "I'm employed at {U}."},
		change: []string{"I joined {V}.", "I now work for {V}.", "I work at {V} now."},
		ask:    []string{"Where do I work?", "Which company do I work for?"},
	},
	"firstthing": {
		state:  []string{"My {A} is {U}.", "my {A} is {U}", "Just so you know, my {A} is {U}."},
		change: []string{"My {A} is now {V}.", "My new {A} is {V}.", "I changed my {A} to {V}.", "Actually my {A} is {V}.", "My {A} has changed to {V}.", "Please remember that my {A} is now {V}."},
		ask:    []string{"What is my {A}?", "What's my {A} now?"},
	},
}
