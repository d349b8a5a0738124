package telemetry

// Scope is the name of the tracer and the meter.
const Scope = "github.com/arc-learn/arc"

// Names of the OpenTelemetry semantic conventions for generative AI: those of
// github.com/open-telemetry/semantic-conventions-genai as of November 2026
// (schema gen-ai-dev/1.42.0-dev, status Development, no release yet), which took
// them over from github.com/open-telemetry/semantic-conventions v1.41. Only
// `plan`, `search_memory` and the durations of agents and tools are new there.
const (
	Operation    = "gen_ai.operation.name"
	Provider     = "gen_ai.provider.name"
	AgentName    = "gen_ai.agent.name"
	Conversation = "gen_ai.conversation.id"
	ErrorType    = "error.type"

	RequestModel       = "gen_ai.request.model"
	RequestMaxTokens   = "gen_ai.request.max_tokens"
	RequestTemperature = "gen_ai.request.temperature"
	RequestStream      = "gen_ai.request.stream"
	OutputType         = "gen_ai.output.type"
	ResponseModel      = "gen_ai.response.model"
	FirstChunk         = "gen_ai.response.time_to_first_chunk"
	FinishReasons      = "gen_ai.response.finish_reasons"
	InputTokens        = "gen_ai.usage.input_tokens"
	OutputTokens       = "gen_ai.usage.output_tokens"
	TokenType          = "gen_ai.token.type"
	Dimensions         = "gen_ai.embeddings.dimension.count"

	ToolName    = "gen_ai.tool.name"
	ToolCall    = "gen_ai.tool.call.id"
	MemoryCount = "gen_ai.memory.record.count"

	// Texts, which the conventions have opt-in.
	InputMessages  = "gen_ai.input.messages"
	OutputMessages = "gen_ai.output.messages"
	ToolArguments  = "gen_ai.tool.call.arguments"
	ToolResult     = "gen_ai.tool.call.result"
	MemoryQuery    = "gen_ai.memory.query.text"

	// Values of Operation, with which the names of their spans begin.
	Chat         = "chat"
	Embeddings   = "embeddings"
	InvokeAgent  = "invoke_agent"
	ExecuteTool  = "execute_tool"
	Plan         = "plan"
	SearchMemory = "search_memory"

	// Metrics.
	TokenUsage        = "gen_ai.client.token.usage"
	OperationDuration = "gen_ai.client.operation.duration"
	AgentDuration     = "gen_ai.invoke_agent.duration"
	ToolDuration      = "gen_ai.execute_tool.duration"
)

// Other is the class of errors without one of their own, as the conventions
// name it.
const Other = "_OTHER"

// arc's own names, for what the conventions have no word for.
const (
	Verify = "arc.verify" // span
	Learn  = "arc.learn"  // span

	RunID     = "arc.run.id"
	RunStatus = "arc.run.status"
	Resumed   = "arc.run.resumed"
	Attempt   = "arc.attempt.number"
	End       = "arc.attempt.end"
	Verdict   = "arc.gate.verdict"
	Withheld  = "arc.recall.withheld"
	Learned   = "arc.learn.count"
	Why       = "arc.complaint" // text

	Runs       = "arc.runs"
	Attempts   = "arc.attempts"
	Rejections = "arc.gate.rejections"
	RecallHits = "arc.recall.hits"
	Fires      = "arc.chunk.fires"
	Pivots     = "arc.pivots"
)

// Boundaries of the histograms, as the conventions advise them.
var (
	durations = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokens    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)
