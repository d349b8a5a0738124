package slotstest

// held are phrasings that the parser was measured on before it was tuned on them.
var held = map[string]phrasings{
	"residence": {
		state: []string{
			"{S} has an apartment in {U} and has lived there for years.",
			"Right now {S} is living in {U}.",
			"{S}'s home city is {U}.",
			"{S} resides in {U}.",
			"The city {S} lives in is {U}.",
		},
		change: []string{
			"{S} has since relocated to {V}.",
			"{S} left {U} and settled in {V}.",
			"Good news: {S} just moved from {U} to {V}!",
			"{S} doesn't live in {U} any more; {he} lives in {V}.",
			"{S}'s home is in {V} these days.",
		},
		ask: []string{"In which city does {S} live now?", "Where is {S} living?", "What is {S}'s home city?"},
	},
	"employer": {
		state: []string{
			"{S} is employed by {U}.",
			"{S} works for {U} as far as I know.",
			"{S} has a job at {U}.",
			"{U} is {S}'s employer.",
		},
		change: []string{
			"{S} quit {U} and joined {V}.",
			"{S} got hired by {V} last month.",
			"Since March {S} works for {V}.",
			"{S}'s new employer is {V}.",
			"{S} no longer works for {U}, {he} is now at {V}.",
		},
		ask: []string{"Who does {S} work for?", "At which company does {S} work now?", "Who is {S}'s employer?"},
	},
	"role": {
		state:  []string{"{S} is employed as {a U}.", "{S}'s position is {U}.", "{S}'s job: {U}."},
		change: []string{"{S} was promoted to {V}.", "{S} is {a V} now.", "{S}'s title has changed to {V}.", "{S} took a new position as {a V}."},
		ask:    []string{"What does {S} do for a living?", "What is {S}'s position now?", "What is {S}'s job?"},
	},
	"phone": {
		state:  []string{"The phone number of {S} is {U}.", "You can call {S} at {U}.", "{S}'s mobile: {U}"},
		change: []string{"{S} can now be reached at {V}.", "{S} got a new phone number: {V}.", "New number for {S}: {V}.", "{S}'s mobile number has been changed to {V}."},
		ask:    []string{"What's the phone number of {S}?", "At which number can I call {S}?"},
	},
	"email": {
		state:  []string{"The e-mail address of {S} is {U}.", "{S} uses {U} as {his} email address.", "{S}'s mail address is {U}."},
		change: []string{"From now on {S}'s e-mail is {V}.", "{S} changed {his} email from {U} to {V}.", "Please use {V} instead of {U} as {S}'s email address.", "The email of {S} was updated to {V}."},
		ask:    []string{"What is the e-mail address of {S}?", "How can I mail {S}?"},
	},
	"favourite": {
		state:  []string{"The favorite {A} of {S} is {U}.", "{U} is {S}'s favourite {A}.", "When it comes to {A}, {S}'s favourite is {U}."},
		change: []string{"{V} has become {S}'s favourite {A}.", "{S} now says that {his} favourite {A} is {V}.", "{S}'s favourite {A} isn't {U} anymore but {V}.", "{S}'s favorite {A} went from {U} to {V}."},
		ask:    []string{"Which {A} does {S} like best?", "What {A} is {S}'s favourite?", "What's the favourite {A} of {S}?"},
	},
	"price": {
		state:  []string{"The price for {S} is {U}.", "{S} sells for {U}.", "You pay {U} for {S}."},
		change: []string{"The price of {S} went up to {V}.", "{S} costs {V} these days.", "{S} is now priced at {V} instead of {U}.", "They raised the price of {S} from {U} to {V}."},
		ask:    []string{"What does {S} cost?", "What's the price of {S} now?", "How expensive is {S}?"},
	},
	"version": {
		state:  []string{"The current version of {S} is {U}.", "{S} is at version {U}.", "{S} version: {U}"},
		change: []string{"{S} was bumped to {V}.", "The latest version of {S} is {V}.", "We upgraded {S} from {U} to {V}.", "{S} has been updated to version {V}."},
		ask:    []string{"Which version of {S} do we have?", "What is the version of {S}?"},
	},
	"deadline": {
		state:  []string{"{S} has a deadline of {U}.", "The due date of {S} is {U}.", "We have to finish {S} by {U}."},
		change: []string{"The deadline for {S} got pushed back to {V}.", "{S} is due on {V} now.", "The due date for {S} was moved from {U} to {V}.", "New deadline for {S}: {V}."},
		ask:    []string{"By when must {S} be finished?", "What's the due date of {S}?", "When is {S} due?"},
	},
	"meeting": {
		state:  []string{"We have {S} on {U}.", "{S} takes place on {U}.", "{S} happens every {U}."},
		change: []string{"{S} got rescheduled to {V}.", "{S} is now held on {V}.", "We moved {S} from {U} to {V}.", "{S} will now take place on {V}."},
		ask:    []string{"On which day is {S}?", "When does {S} take place?"},
	},
	"tool": {
		state:  []string{"{S}'s {A} of choice is {U}.", "As {A} {S} uses {U}.", "{S} relies on {U} as {his} {A}."},
		change: []string{"{S} migrated from {U} to {V} as {his} {A}.", "{S} now uses {V} as {A} instead of {U}.", "{S} dropped {U} and uses {V} as {his} {A} now.", "{S}'s {A} is {V} these days."},
		ask:    []string{"What {A} does {S} use now?", "What is {S}'s {A}?"},
	},
	"status": {
		state:  []string{"{S} currently has status {U}.", "The status of {S} is {U}.", "Status of {S}: {U}."},
		change: []string{"{S} went from {U} to {V}.", "{S}'s status changed to {V}.", "{S} has been marked as {V}.", "{S} is {V} now."},
		ask:    []string{"What's the state of {S}?", "What status does {S} have?"},
	},
	"owner": {
		state:  []string{"{S} is owned by {U}.", "{U} is the owner of {S}.", "Responsible for {S} is {U}."},
		change: []string{"Ownership of {S} passed from {U} to {V}.", "{V} took over {S} from {U}.", "{V} is the new owner of {S}.", "{S} now belongs to {V}."},
		ask:    []string{"Who is responsible for {S}?", "Who is the owner of {S} now?"},
	},
	"lead": {
		state:  []string{"The leader of {S} is {U}.", "{S} is headed by {U}.", "{U} heads {S}."},
		change: []string{"{V} replaced {U} as lead of {S}.", "{S} is now led by {V}.", "{V} now leads {S}.", "The new lead of {S} is {V}."},
		ask:    []string{"Who is the lead of {S}?", "Who is leading {S}?"},
	},
	"manager": {
		state:  []string{"{S}'s boss is {U}.", "{U} manages {S}.", "{S} has {U} as manager."},
		change: []string{"{V} is {S}'s new manager.", "{S} reports to {V} instead of {U}.", "{S} got a new boss, {V}.", "{S}'s manager changed from {U} to {V}."},
		ask:    []string{"Who is {S}'s boss?", "To whom does {S} report?"},
	},
	"config": {
		state:  []string{"{S} = {U}", "The value of {S} is {U}.", "By default {S} is {U}.", "{S} is configured as {U}."},
		change: []string{"{S} was raised from {U} to {V}.", "Set {S} to {V}.", "We've changed {S} to {V}.", "{S} is {V} now, no longer {U}.", "{S}={V}"},
		ask:    []string{"What value does {S} have?", "What is {S} set to?", "How high is {S}?"},
	},
	"port": {
		state:  []string{"{S} runs on port {U}.", "The port of {S} is {U}.", "{S} is reachable on port {U}."},
		change: []string{"{S} moved to port {V}.", "{S} now listens on port {V} instead of {U}.", "The port of {S} has changed from {U} to {V}.", "{S} is now served on port {V}."},
		ask:    []string{"What port does {S} listen on?", "What's the port of {S}?"},
	},
	"command": {
		state:  []string{"The command to {A} is `{U}`.", "To {A}, use `{U}`.", "We {A} with `{U}`."},
		change: []string{"You now {A} with `{V}`.", "To {A}, run `{V}` instead of `{U}`.", "The command to {A} has changed to `{V}`.", "Use `{V}` to {A} from now on."},
		ask:    []string{"How do I {A}?", "Which command is there to {A}?"},
	},
	"children": {
		state:  []string{"{S} is the parent of {U} children.", "{S} has {U} kids.", "The number of {S}'s children is {U}."},
		change: []string{"{S} now has {V} children.", "{S} has {V} kids by now, not {U}.", "Since last week {S} has {V} children."},
		ask:    []string{"How many kids does {S} have?", "How many children has {S} got?"},
	},
	"age": {
		state:  []string{"{S} is {U} years of age.", "The age of {S} is {U}.", "{S}, aged {U}, is well."},
		change: []string{"{S} has turned {V}.", "{S} is {V} now.", "Yesterday {S} turned {V}.", "{S} just turned {V} years old."},
		ask:    []string{"What's {S}'s age?", "How old is {S} now?"},
	},
	"marital": {
		state:  []string{"{S} is {U}.", "{S}'s marital status is {U}.", "At the moment {S} is {U}."},
		change: []string{"{S} is {V} now.", "{S}'s marital status changed to {V}.", "{S} got {V} last week.", "{S} isn't {U} any more, {he} is {V}."},
		ask:    []string{"What is {S}'s marital status?", "Is {S} married or single?"},
	},
	"generic": {
		state:  []string{"{S}'s {A}: {U}", "As for {S}, the {A} is {U}.", "{U} is the {A} of {S}.", "{S} has {U} as {A}."},
		change: []string{"{S}'s {A} is not {U} anymore, it is {V}.", "{V} is now {S}'s {A}.", "{S} has a new {A}: {V}.", "The {A} of {S} has been changed to {V}.", "Correction: the {A} of {S} is {V}, not {U}.", "{S}'s {A} used to be {U}, but now it's {V}.", "{V} replaced {U} as {S}'s {A}."},
		ask:    []string{"What {A} does {S} have?", "What's {S}'s {A}?", "Tell me the {A} of {S}."},
	},
	"car": {
		state:  []string{"{S}'s car is a {U}.", "{S} owns a {U} and drives it to work."},
		change: []string{"{S} traded {his} {U} for a {V}.", "{S} now drives a {V}.", "{S}'s new car is a {V}."},
		ask:    []string{"Which car does {S} drive?", "What is {S}'s car?"},
	},
	"school": {
		state:  []string{"{S} is a student at {U}.", "{S} attends {U}.", "{S} is enrolled at {U}."},
		change: []string{"{S} transferred from {U} to {V}.", "{S} now studies at {V}.", "{S} switched schools and attends {V} now."},
		ask:    []string{"Where does {S} study?", "Which school does {S} go to now?"},
	},
	"url": {
		state:  []string{"You find {S} at {U}.", "The address of {S} is {U}.", "{S} is hosted at {U}."},
		change: []string{"{S} was moved to {V}.", "The new URL of {S} is {V}.", "{S} is now available at {V}."},
		ask:    []string{"What's the URL of {S}?", "At which address is {S}?"},
	},
	"path": {
		state:  []string{"{S} is located at {U}.", "The path of {S} is {U}.", "{S} is kept in {U}."},
		change: []string{"{S} now lives in {V}.", "We moved {S} from {U} to {V}.", "{S} has moved to {V}."},
		ask:    []string{"What is the path of {S}?", "Where do I find {S}?"},
	},
	"hours": {
		state:  []string{"{S} opens every day at {U}.", "The opening time of {S} is {U}."},
		change: []string{"{S} now opens at {V} instead of {U}.", "As of Monday {S} opens at {V}."},
		ask:    []string{"At what time does {S} open?", "What's the opening time of {S}?"},
	},
	"plan": {
		state:  []string{"{S}'s plan is the {U} plan.", "{S} has the {U} plan."},
		change: []string{"{S} switched to the {V} plan.", "{S} moved from the {U} plan to the {V} plan.", "{S} is on the {V} plan now."},
		ask:    []string{"What plan does {S} have?", "What is {S}'s plan?"},
	},
	"team": {
		state:  []string{"{S} is a member of the {U} team.", "{S}'s team is {U}."},
		change: []string{"{S} joined the {V} team.", "{S} switched from the {U} team to the {V} team.", "{S} is on the {V} team now."},
		ask:    []string{"On which team is {S}?", "What is {S}'s team?"},
	},
	"pet": {
		state:  []string{"{S} has a {A} named {U}.", "The name of {S}'s {A} is {U}."},
		change: []string{"{S}'s {A} is now called {V}.", "{S} renamed {his} {A} to {V}."},
		ask:    []string{"What's {S}'s {A} called?", "How is {S}'s {A} called?"},
	},
	"first": {
		state:  []string{"I'm living in {U}.", "I am based in {U} at the moment.", "I've lived in {U} for two years."},
		change: []string{"I've moved to {V}!", "I moved from {U} to {V} last weekend.", "I'm now living in {V}.", "I relocated to {V} for work."},
		ask:    []string{"Where do I live now?", "In which city do I live?"},
	},
	"firstjob": {
		state:  []string{"I'm working at {U}.", "I have a job at {U}.", "My employer is {U}."},
		change: []string{"I started working at {V}.", "I left {U} for {V}.", "I've got a new job at {V}."},
		ask:    []string{"Who do I work for?", "Where do I work now?"},
	},
	"firstthing": {
		state:  []string{"My {A}? It's {U}.", "{U} is my {A}.", "My current {A} is {U}."},
		change: []string{"My {A} is not {U} anymore, it's {V}.", "I have a new {A}: {V}.", "{V} is my {A} now.", "I changed my {A} from {U} to {V}."},
		ask:    []string{"What's my {A}?", "Which {A} do I have now?"},
	},
}
