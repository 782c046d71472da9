import type { Members, OriginalPath } from './original.ts';

/**
 * The neutral form of what a caller asks a model: everything behind a surface reads this, whatever dialect the caller
 * speaks. Each part knows its place in the original body, so that an edit is written back there.
 */
export interface Conversation {
  /** In order, at least one; none in a route query that states figures in place of a conversation. */
  readonly turns: readonly Turn[];
  /** Empty for none. */
  readonly tools: readonly ToolDefinition[];
  /** Absent for none. */
  readonly nativeTools?: readonly NativeTool[];
  /** The caller's tools that `tool_choice` does not allow, by their places. Only a service that takes the original gets them. Absent for none. */
  readonly leftOutTools?: readonly OriginalPath[];
  /** Undefined leaves it to the model. */
  readonly toolChoice: ToolChoice | undefined;
  /** The history that the service keeps for its caller; absent for none. */
  readonly thread?: Thread;
  /** The service only reads the prompt into its cache. Only a request that goes out as it came can say so. */
  readonly isWarmUp?: true;
  /** Whether the caller asks for thinking, in a dialect whose effort does not imply it; absent where the effort decides. */
  readonly asksForThinking?: boolean;
}

/** A conversation whose history stands at the service: a request that goes on with it has its new turns alone. */
export interface Thread {
  /** The service's ID of the answer that the request goes on from; null where it begins a thread. */
  readonly continues: string | null;
}

/** `developer` is a newer name of `system` in OpenAI's dialect. */
export type TurnRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

/** One message. The result of a tool call is a turn of its own, with the role `tool`. */
export interface Turn {
  readonly role: TurnRole;
  /** In the original's order; where its dialect has none: content, a refusal, then tool calls. Empty for a message without content. */
  readonly parts: readonly ContentPart[];
  /** The name of the speaker. */
  readonly name?: string;
  /** The ID of the call that a `tool` turn answers. */
  readonly toolCallId?: string;
  /**
   * Members that the neutral form does not name, as they came. They go upstream with the original and may be billed.
   * The state of earlier reasoning is here: `reasoning_details` and `extra_content`, as in the parts of answers.
   */
  readonly extras: Members;
  readonly at: OriginalPath;
  /** The places of its further items, where its dialect splits one message into several. */
  readonly alsoAt?: readonly OriginalPath[];
}

/** Every place of a turn in the original, in order. */
export const placesOf = ({ at, alsoAt = [] }: Turn): readonly OriginalPath[] => [at, ...alsoAt];

/** A part of a turn, with its place in the original. */
interface PartBase {
  /** The place of the part. */
  readonly at: OriginalPath;
  /** The place of its text, address or data; the same as `at` where the part is a bare string. */
  readonly valueAt: OriginalPath;
  /** As in `Turn`. */
  readonly extras: Members;
}

export interface TextPart extends PartBase {
  readonly type: 'text';
  readonly text: string;
}

/** The refusal of a model in place of an answer. */
export interface RefusalPart extends PartBase {
  readonly type: 'refusal';
  readonly text: string;
}

export interface ImagePart extends PartBase {
  readonly type: 'image';
  /** An http or https address, or a `data:` URL. */
  readonly url: string;
  /** Such as `low` or `high`. */
  readonly detail?: string;
}

export interface AudioPart extends PartBase {
  readonly type: 'audio';
  /** Base64. */
  readonly data: string;
  /** Such as `wav`. */
  readonly format: string;
}

export interface FilePart extends PartBase {
  readonly type: 'file';
  /** A `data:` URL. */
  readonly data?: string;
  /** The ID of an uploaded file at the provider. */
  readonly id?: string;
  /** The address of a file, which only its dialect can say: a `native` part stands beside it. */
  readonly url?: string;
  readonly name?: string;
}

/** A call of a tool by the model, in a turn of the assistant. */
export interface ToolCallPart extends PartBase {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** The text of the model: JSON, unless it broke off. */
  readonly arguments: string;
}

/**
 * A part that only the dialect of the original can say, such as the result of a search by the provider. It goes out with the
 * original, to a provider that takes it as it is.
 */
interface NativePart extends PartBase {
  readonly type: 'native';
  /** The dialect's own name of the kind: `web_search_tool_result`. */
  readonly kind: string;
}

export type ContentPart = TextPart | RefusalPart | ImagePart | AudioPart | FilePart | ToolCallPart | NativePart;

/** A tool that only the dialect of the original can say, such as one that the provider runs. */
export interface NativeTool {
  /** The dialect's own name of the kind: `web_search_20250305`. */
  readonly kind: string;
  readonly at: OriginalPath;
  /** The bill for it: the tokens of the conversation alone, its uses, or unknown. */
  readonly billing: 'tokens' | BilledTool | 'unknown';
  /** Whether `tool_choice` does not allow it, so that it is not sent: only its service could tell that it ran. */
  readonly isLeftOut?: boolean;
}

/** A tool that a service runs itself. */
interface BilledTool {
  /** The name by which prices of the catalog know it: `web_search`. */
  readonly name: string;
  /** The most uses that the request allows; null for any number. */
  readonly most: number | null;
  /** Where the original states that figure. */
  readonly mostAt: OriginalPath;
}

/** A function that the model may call. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  /** A JSON schema of the arguments. */
  readonly parameters?: Members;
  /** Whether the arguments must follow the schema. */
  readonly strict?: boolean;
  /** As in `Turn`. */
  readonly extras: Members;
  /** The place of the tool. */
  readonly at: OriginalPath;
  /** The place of the object that holds its name and parameters. */
  readonly valueAt: OriginalPath;
}

/** `required` forces some call; a name forces that tool. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** The form of the answer. */
export interface AnswerFormat {
  readonly type: 'text' | 'json' | 'json-schema';
  readonly name?: string;
  readonly description?: string;
  /** A JSON schema of the answer. */
  readonly schema?: Members;
  readonly strict?: boolean;
  readonly at: OriginalPath;
  /** The place of the object that holds the schema. */
  readonly valueAt: OriginalPath;
}

/** The settings of a request that models read. Absent ones are left to the model. */
export interface ModelSettings {
  /** Output tokens of one choice. */
  readonly outputTokensMax?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** The number of answers. */
  readonly choices?: number;
  readonly stop?: string | readonly string[];
  readonly seed?: number;
  readonly logprobs?: boolean;
  readonly topLogprobs?: number;
  /** Added logits by token. */
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly answerFormat?: AnswerFormat;
  /** Such as `none`, `low`, `high`. */
  readonly reasoningEffort?: string;
  /** False: at most one tool call in an answer. */
  readonly parallelToolCalls?: boolean;
  /** The caller's name of the end user. */
  readonly user?: string;
}

/** The terms of a request that only the gateway reads. */
export interface RoutingTerms {
  /** Weights of the caller, ≥ 0; only their ratio matters. */
  readonly weights?: { readonly cost?: number; readonly quality?: number; readonly latency?: number };
  /** The greatest expected cost, Credits. */
  readonly costCreditsMax?: number;
  /** The greatest expected latency to the end of the answer, ms. */
  readonly latencyMsMax?: number;
  /** The least output tokens of one choice that the answer may be capped at. */
  readonly outputTokensMin?: number;
  /** Programming languages that the model must handle, as the caller names them. */
  readonly languages?: readonly string[];
  /** The most Credits that the request may consume. */
  readonly budgetCredits?: number;
  /** The address of the wallet that pays. */
  readonly agentWallet?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Paths of fields that change the bill by no price of a catalog; absent for none. */
  readonly unpriced?: readonly string[];
  /** Paths of members of settings that have no neutral name: a translation loses them. Absent for none. */
  readonly unnamed?: readonly string[];
  /** The task that the caller states, in place of the one that the conversation shows. */
  readonly task?: string;
  /** Stated sizes, tokens, in place of those that the conversation shows. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}
