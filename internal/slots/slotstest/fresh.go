package slotstest

// fresh are phrasings that were written after the parser knew dev and held, and
// that it was not tuned on.
var fresh = map[string]phrasings{
	"residence": {
		state:  []string{"{S} has lived in {U} since 2015.", "{U} is where {S} lives.", "These days {S} lives in {U}.", "Note: {S} is located in {U}."},
		change: []string{"{S} is living in {V} now.", "Last week {S} moved to {V}.", "{S}'s new city is {V}.", "{S} has left {U} and moved to {V}.", "{S} lives in {V} instead of {U} now.", "Small update: {S} is now based in {V}."},
		ask:    []string{"Which city is {S} in these days?", "Can you tell me where {S} lives?", "What city does {S} live in?"},
	},
	"employer": {
		state:  []string{"{S} currently works for {U}.", "{S}'s company is {U}.", "At the moment, {S} is employed at {U}."},
		change: []string{"{S} has joined {V}.", "{S} is working for {V} now.", "{S} moved on from {U} and works for {V}.", "{S} changed employers from {U} to {V}.", "{S} has started at {V}."},
		ask:    []string{"What company is {S} working for?", "Where is {S} employed?", "Which company employs {S}?"},
	},
	"role": {
		state:  []string{"{S} currently works as {a U}.", "{S}'s occupation is {U}.", "By profession {S} is {a U}."},
		change: []string{"{S} has become {a V}.", "{S}'s job title changed from {U} to {V}.", "{S} now has the role of {V}.", "{S}'s new job title is {V}."},
		ask:    []string{"What role does {S} have?", "What is {S}'s occupation?"},
	},
	"phone": {
		state:  []string{"{S}'s telephone number is {U}.", "{S} has the phone number {U}.", "Phone number of {S}: {U}"},
		change: []string{"{S}'s phone number has changed to {V}.", "{S}'s number is now {V}, not {U}.", "{S} updated {his} phone number to {V}.", "Call {S} on {V} instead of {U}."},
		ask:    []string{"What's {S}'s number?", "Which phone number does {S} have?"},
	},
	"email": {
		state:  []string{"{S} can be reached by email at {U}.", "{S}'s email: {U}", "{S} has the email address {U}."},
		change: []string{"{S}'s email address is now {V}.", "{S} has a new email address: {V}.", "{S}'s email address changed from {U} to {V}.", "{S} now has the email address {V}."},
		ask:    []string{"What's {S}'s email?", "Which email address does {S} have?"},
	},
	"favourite": {
		state:  []string{"{S} considers {U} {his} favorite {A}.", "{S}'s all-time favorite {A} is {U}.", "{U} is the favorite {A} of {S}."},
		change: []string{"{S} switched {his} favorite {A} from {U} to {V}.", "{S}'s favorite {A} is {V} now.", "{V} is {S}'s new favourite {A}.", "{S} no longer has {U} as favourite {A} but {V}.", "These days {S}'s favourite {A} is {V}."},
		ask:    []string{"Do you remember {S}'s favourite {A}?", "What is the favorite {A} of {S} these days?"},
	},
	"price": {
		state:  []string{"{S} is {U}.", "{S} currently costs {U}.", "{S} comes at a price of {U}."},
		change: []string{"{S} has gone up to {V}.", "The price of {S} is now {V} instead of {U}.", "The price of {S} dropped from {U} to {V}.", "{S} is being sold for {V} now."},
		ask:    []string{"How much is {S}?", "What is the current price of {S}?"},
	},
	"version": {
		state:  []string{"{S} is currently at {U}.", "We are using version {U} of {S}.", "We're on {S} {U}."},
		change: []string{"{S} has been upgraded from {U} to {V}.", "{S}'s current version is {V}.", "We moved {S} to version {V}.", "{S} now runs version {V}."},
		ask:    []string{"What version of {S} are we using?", "Which version is {S} at?"},
	},
	"deadline": {
		state:  []string{"{S} is due by {U}.", "The deadline set for {S} is {U}.", "{S} must be done by {U}."},
		change: []string{"{S}'s deadline has been moved to {V}.", "{S} is now due by {V} instead of {U}.", "They extended the deadline for {S} to {V}.", "The deadline for {S} is {V} now, not {U}."},
		ask:    []string{"What's the deadline for {S}?", "When do we have to finish {S}?"},
	},
	"meeting": {
		state:  []string{"{S} is planned for {U}.", "{S} is held on {U}.", "The day of {S} is {U}."},
		change: []string{"{S} was moved from {U} to {V}.", "{S} is on {V} now.", "{S} has been postponed to {V}.", "{S} now takes place on {V} instead of {U}."},
		ask:    []string{"What day does {S} take place?", "When will {S} be?"},
	},
	"tool": {
		state:  []string{"{S} currently uses {U} as {A}.", "{S}'s preferred {A} is {U}.", "The {A} that {S} uses is {U}."},
		change: []string{"{S} replaced {U} with {V} as {his} {A}.", "{S} has switched to {V} as {his} {A}.", "{S} moved from {U} to {V} for {his} {A}.", "{S} is using {V} as {his} {A} now."},
		ask:    []string{"Which {A} is {S} using?", "What is {S}'s preferred {A}?"},
	},
	"status": {
		state:  []string{"{S} is currently {U}.", "At the moment {S} is {U}.", "{S} has the status {U}."},
		change: []string{"{S} has been set to {V}.", "{S} changed from {U} to {V}.", "The status of {S} is now {V}.", "{S}'s status went from {U} to {V}."},
		ask:    []string{"Which status is {S} in?", "What's the status of {S} now?"},
	},
	"owner": {
		state:  []string{"{S}'s owner is {U}.", "The person responsible for {S} is {U}.", "{U} is in charge of {S}."},
		change: []string{"{V} is now responsible for {S}.", "{S} was handed over from {U} to {V}.", "{V} replaced {U} as owner of {S}.", "{S} has a new owner: {V}."},
		ask:    []string{"Who is in charge of {S}?", "What is the owner of {S}?"},
	},
	"lead": {
		state:  []string{"{S} has {U} as lead.", "{S}'s lead is {U}.", "{U} is leading {S}."},
		change: []string{"{S}'s new lead is {V}.", "{V} has taken over {S} as its lead.", "{V} is leading {S} now.", "The lead of {S} changed from {U} to {V}."},
		ask:    []string{"Who is {S}'s lead?", "Who leads {S} these days?"},
	},
	"manager": {
		state:  []string{"{S} is managed by {U}.", "{S}'s current manager is {U}.", "{S} works under {U}, {his} manager."},
		change: []string{"{S} is now managed by {V}.", "{V} replaced {U} as {S}'s manager.", "{V} became {S}'s manager.", "{S} no longer reports to {U} but to {V}."},
		ask:    []string{"Who manages {S}?", "Who is the manager of {S}?"},
	},
	"config": {
		state:  []string{"{S} has a value of {U}.", "Currently {S} is {U}.", "{S} should be {U}.", "We use {U} for {S}."},
		change: []string{"{S} has been set to {V}.", "Update {S} to {V}.", "{S} went from {U} to {V}.", "{S} has been lowered to {V}.", "We now use {V} for {S} instead of {U}."},
		ask:    []string{"What's the current value of {S}?", "What is {S} now?"},
	},
	"port": {
		state:  []string{"{S} is listening on port {U}.", "You can reach {S} on port {U}.", "Port of {S}: {U}"},
		change: []string{"{S} is now listening on port {V}.", "{S} switched to port {V}.", "{S} has been moved from port {U} to port {V}.", "{S} now uses port {V} instead of {U}."},
		ask:    []string{"On which port is {S}?", "What port is {S} on now?"},
	},
	"command": {
		state:  []string{"You can {A} with `{U}`.", "In order to {A}, run `{U}`.", "`{U}` is the command to {A}."},
		change: []string{"To {A} you now run `{V}`.", "The command to {A} changed from `{U}` to `{V}`.", "We {A} with `{V}` now.", "From now on, run `{V}` to {A}."},
		ask:    []string{"What do I run to {A}?", "How can I {A}?"},
	},
	"children": {
		state:  []string{"{S} currently has {U} children.", "{S}'s number of kids is {U}."},
		change: []string{"{S} has got {V} children now.", "{S} no longer has {U} children but {V}.", "By now {S} has {V} children."},
		ask:    []string{"How many children does {S} have now?", "What is the number of {S}'s children?"},
	},
	"age": {
		state:  []string{"{S} is currently {U} years old.", "{S}'s age: {U}"},
		change: []string{"{S} turned {V} last week.", "As of today {S} is {V} years old.", "{S} has just turned {V}."},
		ask:    []string{"How old is {S} these days?", "What age is {S}?"},
	},
	"marital": {
		state:  []string{"{S} is {U} at the moment.", "{S}'s relationship status is {U}."},
		change: []string{"{S} just got {V}.", "{S} recently got {V}.", "As of June, {S} is {V}."},
		ask:    []string{"What's {S}'s marital status?", "Is {S} still {U}?"},
	},
	"generic": {
		state:  []string{"{S}'s current {A} is {U}.", "{A} for {S}: {U}.", "FYI, {S}'s {A} is {U}.", "The {A} {S} has is {U}.", "{U} is {S}'s {A}."},
		change: []string{"{S} has changed {his} {A} from {U} to {V}.", "{S}'s {A} has been updated to {V}.", "From now on {S}'s {A} is {V}.", "The new {A} of {S} is {V}.", "{S} got a new {A}: {V}.", "{S}'s {A} is {V} now, not {U}.", "{S} switched {his} {A} to {V}.", "Please update {S}'s {A} to {V}.", "{V} has replaced {U} as the {A} of {S}.", "{S}'s {A} became {V}."},
		ask:    []string{"What is the current {A} of {S}?", "What {A} is {S} using?", "Do you know {S}'s {A}?"},
	},
	"car": {
		state:  []string{"{S} has a car, a {U}.", "The car of {S} is a {U}."},
		change: []string{"{S} switched from a {U} to a {V} as {his} car.", "{S} is driving a {V} now.", "{S} replaced {his} {U} with a {V}."},
		ask:    []string{"What kind of car does {S} drive?", "Which car is {S} driving?"},
	},
	"school": {
		state:  []string{"{S} is studying at {U}.", "{S} currently attends {U}."},
		change: []string{"{S} has transferred to {V}.", "{S} is now enrolled at {V}.", "{S} changed schools from {U} to {V}."},
		ask:    []string{"Where is {S} studying?", "What school does {S} attend now?"},
	},
	"url": {
		state:  []string{"{S} can be found at {U}.", "{S}'s URL is {U}.", "The link to {S} is {U}."},
		change: []string{"{S} has moved from {U} to {V}.", "{S}'s address changed to {V}.", "You now find {S} at {V}."},
		ask:    []string{"What is the address of {S}?", "Where can I find {S}?"},
	},
	"path": {
		state:  []string{"You find {S} in {U}.", "The path to {S} is {U}.", "{S} lives in {U}."},
		change: []string{"{S} is now located in {V}.", "{S} moved from {U} to {V}.", "The path to {S} changed to {V}."},
		ask:    []string{"In which place is {S}?", "Where's {S} located?"},
	},
	"hours": {
		state:  []string{"{S} normally opens at {U}.", "Opening time of {S}: {U}."},
		change: []string{"From next week {S} opens at {V}.", "The opening time of {S} is now {V}.", "{S} opens at {V} now, not at {U}."},
		ask:    []string{"When is {S} opening?", "What time does {S} open?"},
	},
	"plan": {
		state:  []string{"{S} uses the {U} plan.", "{S}'s current plan is {U}."},
		change: []string{"{S} changed {his} plan from {U} to {V}.", "{S} has upgraded to the {V} plan.", "{S} is now using the {V} plan."},
		ask:    []string{"What plan is {S} on?", "Which plan does {S} have?"},
	},
	"team": {
		state:  []string{"{S} belongs to the {U} team.", "{S} is part of the {U} team."},
		change: []string{"{S} has moved to the {V} team.", "{S} transferred from the {U} team to the {V} team.", "{S} changed teams from {U} to {V}."},
		ask:    []string{"What team is {S} on?", "Which team does {S} belong to?"},
	},
	"pet": {
		state:  []string{"{S} owns a {A} called {U}.", "{U} is the name of {S}'s {A}."},
		change: []string{"The name of {S}'s {A} is now {V}.", "{S}'s {A} has been renamed to {V}.", "{S} changed {his} {A}'s name to {V}."},
		ask:    []string{"What is {S}'s {A}'s name?", "Which name does {S}'s {A} have?"},
	},
	"first": {
		state:  []string{"I currently live in {U}.", "My home is in {U}.", "I'm from Ohio, but I live in {U}."},
		change: []string{"I've relocated to {V}.", "I no longer live in {U}; I live in {V}.", "Guess what, I moved to {V}!", "My new home is {V}.", "I moved to {V} last month."},
		ask:    []string{"Do you know where I live?", "What city am I living in?"},
	},
	"firstjob": {
		state:  []string{"I currently work for {U}.", "I work for a company called {U}."},
		change: []string{"I've joined {V}.", "I switched jobs and now work at {V}.", "I'm now working at {V}."},
		ask:    []string{"What company do I work for?", "Who's my employer?"},
	},
	"firstthing": {
		state:  []string{"Please note that my {A} is {U}.", "For the record, my {A} is {U}.", "My {A}: {U}"},
		change: []string{"My {A} changed to {V}.", "My {A} is {V} now.", "I've got a new {A}: {V}.", "From now on my {A} is {V}.", "My {A} isn't {U} any more, it's {V}."},
		ask:    []string{"Do you remember my {A}?", "Tell me my {A}."},
	},
}
