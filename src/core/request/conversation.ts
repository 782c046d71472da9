import type { Members, OriginalPath } from '../json/original.ts';

/**
 * The neutral form of a conversation. All code after the dialects reads this form, whichever dialect the caller uses. Each part of a
 * conversation knows its location in the original body, so that an edit can be written back there.
 */
export interface Conversation {
  /**
   * The messages of the conversation in order, at least one. `turns` is empty in a route query that states figures instead of a
   * conversation.
   */
  readonly turns: readonly Turn[];
  /** Functions that the model may call; empty for none. */
  readonly tools: readonly ToolDefinition[];
  /** Tools that only the original dialect can express; absent for none. */
  readonly nativeTools?: readonly NativeTool[];
  /**
   * Locations of the caller's tools that `tool_choice` does not allow. Only a service that receives the original body gets tools that
   * `tool_choice` does not allow. `leftOutTools` is absent if `tool_choice` allows all tools.
   */
  readonly leftOutTools?: readonly OriginalPath[];
  /** If `toolChoice` is undefined, the model decides whether to call a tool. */
  readonly toolChoice: ToolChoice | undefined;
  /** The history that the service stores for its caller; absent for none. */
  readonly thread?: Thread;
  /** Whether the service only reads the prompt into its cache and writes no answer. Only a passed-through request can be a warm-up. */
  readonly isWarmUp?: true;
  /**
   * Whether the model continues a text instead of a conversation. The only turn has the text, and as its second part the text that follows
   * the answer, if any.
   */
  readonly isCompletion?: true;
  /**
   * Whether the caller requests thinking, in a dialect where the effort does not imply it. `asksForThinking` is absent if the effort
   * decides.
   */
  readonly asksForThinking?: boolean;
}

/** A conversation whose history is stored at the service. A request that continues a stored conversation contains only the new turns. */
export interface Thread {
  /** The service's ID of the answer that the request continues; null if the request begins a thread. */
  readonly continues: string | null;
}

/** `developer` is OpenAI's newer name for `system`. */
export type TurnRole = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

/** One message of a conversation. The result of a tool call is a turn of its own, with the role `tool`. */
export interface Turn {
  readonly role: TurnRole;
  /**
   * The parts of the message in the original's order. If the dialect has no order of parts, the content comes first, then a refusal, then
   * tool calls. `parts` is empty for a message without content.
   */
  readonly parts: readonly ContentPart[];
  /** The name of the speaker. */
  readonly name?: string;
  /** The ID of the call that a `tool` turn answers. */
  readonly toolCallId?: string;
  /**
   * Members without a neutral name, unchanged. Members without a neutral name go upstream with the original body and may be billed.
   * `extras` includes the state of earlier reasoning: `reasoning_details` and `extra_content`, as in the parts of answers.
   */
  readonly extras: Members;
  readonly at: OriginalPath;
  /** Locations of the turn's further items, in a dialect that splits one message into several items. */
  readonly alsoAt?: readonly OriginalPath[];
}

/** Returns every location of a turn in the original body, in order. */
export const placesOf = ({ at, alsoAt = [] }: Turn): readonly OriginalPath[] => [at, ...alsoAt];

/** A part of a turn, with its location in the original body. */
interface PartBase {
  /** The location of the part in the original body. */
  readonly at: OriginalPath;
  /** Location of the part's text, URL or data. `valueAt` is the same as `at` if the part is a bare string. */
  readonly valueAt: OriginalPath;
  /** Members without a neutral name, as in `Turn`. */
  readonly extras: Members;
}

export interface TextPart extends PartBase {
  readonly type: 'text';
  readonly text: string;
}

/** A model's refusal to answer. */
export interface RefusalPart extends PartBase {
  readonly type: 'refusal';
  readonly text: string;
}

export interface ImagePart extends PartBase {
  readonly type: 'image';
  /** An http or https address, or a `data:` URL. */
  readonly url: string;
  /** Level of detail, such as `low` or `high`. */
  readonly detail?: string;
}

export interface AudioPart extends PartBase {
  readonly type: 'audio';
  /** Audio data in base64. */
  readonly data: string;
  /** Audio format, such as `wav`. */
  readonly format: string;
}

export interface FilePart extends PartBase {
  readonly type: 'file';
  /** The file as a `data:` URL. */
  readonly data?: string;
  /** The ID of an uploaded file at the provider. */
  readonly id?: string;
  /** The URL of a file. Only the original dialect can express the URL of a file, so the turn also has a `native` part for it. */
  readonly url?: string;
  readonly name?: string;
}

/** A tool call by the model, in an assistant turn. */
export interface ToolCallPart extends PartBase {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  /** The arguments as the model wrote them: JSON, unless the answer was cut off. */
  readonly arguments: string;
}

/**
 * A part that only the dialect of the original can express, such as the result of a search by the provider. A native part goes upstream
 * only with the original body, to a provider that accepts that dialect unchanged.
 */
interface NativePart extends PartBase {
  readonly type: 'native';
  /** The dialect's own name of the kind: `web_search_tool_result`. */
  readonly kind: string;
}

export type ContentPart = TextPart | RefusalPart | ImagePart | AudioPart | FilePart | ToolCallPart | NativePart;

/** A tool that only the dialect of the original can express, such as a tool that the provider runs. */
export interface NativeTool {
  /** The dialect's own name of the kind: `web_search_20250305`. */
  readonly kind: string;
  readonly at: OriginalPath;
  /** How the service bills the tool: only as tokens of the conversation, per use, or in an unknown way. */
  readonly billing: 'tokens' | BilledTool | 'unknown';
  /** Whether `tool_choice` excludes the tool. An excluded tool is not sent, because only its service could report whether the tool ran. */
  readonly isLeftOut?: boolean;
}

/** A tool that a service runs itself and bills per use. */
interface BilledTool {
  /** The tool's name in the catalog's prices: `web_search`. */
  readonly name: string;
  /** The most uses that the request allows; null for any number. */
  readonly most: number | null;
  /** The location of the figure `most` in the original body. */
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
  /** Members without a neutral name, as in `Turn`. */
  readonly extras: Members;
  /** The location of the tool in the original body. */
  readonly at: OriginalPath;
  /** Location of the object that holds the tool's name and parameters. */
  readonly valueAt: OriginalPath;
}

/** `required` forces a call of any tool; a name forces a call of that tool. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** The required format of the answer. */
export interface AnswerFormat {
  readonly type: 'text' | 'json' | 'json-schema';
  readonly name?: string;
  readonly description?: string;
  /** A JSON schema of the answer. */
  readonly schema?: Members;
  readonly strict?: boolean;
  readonly at: OriginalPath;
  /** Location of the object that holds the schema. */
  readonly valueAt: OriginalPath;
}

/** The settings of a request that models read. If a setting is absent, the model's default applies. */
export interface ModelSettings {
  /** Maximum output tokens of one choice. */
  readonly outputTokensMax?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  /** The number of answers that the request wants. */
  readonly choices?: number;
  readonly stop?: string | readonly string[];
  readonly seed?: number;
  readonly logprobs?: boolean;
  readonly topLogprobs?: number;
  /** Values to add to the logits of tokens, by token. */
  readonly logitBias?: Readonly<Record<string, number>>;
  readonly answerFormat?: AnswerFormat;
  /** How much the model reasons, such as `none`, `low` or `high`. */
  readonly reasoningEffort?: string;
  /** If `parallelToolCalls` is false, an answer may have at most one tool call. */
  readonly parallelToolCalls?: boolean;
  /** The caller's name of its end user. */
  readonly user?: string;
  /** The service tier that the request asks for (`askedTier`), such as `flex`. */
  readonly serviceTier?: string;
}

/** A list of models to try next, in this order, as a request states it. The policy decides whether it counts. */
export interface SentFallbacks {
  /** The name of the field, for errors. */
  readonly field: 'fallbacks' | 'models';
  /** The value of the field, not checked. */
  readonly value: unknown;
}

/** The terms of a request that only the gateway reads. */
export interface RoutingTerms {
  /** The models to try after the named model, as the request lists them; absent for none. */
  readonly fallbacks?: SentFallbacks;
  /** The caller's weights, each ≥ 0; only their ratio matters. */
  readonly weights?: { readonly cost?: number; readonly quality?: number; readonly latency?: number };
  /** The highest acceptable expected cost, Credits. */
  readonly costCreditsMax?: number;
  /** The longest acceptable expected time to the end of the answer, ms. */
  readonly latencyMsMax?: number;
  /** The lowest acceptable cap on the output tokens of one choice. */
  readonly outputTokensMin?: number;
  /** Programming languages that the model must support, under the caller's names. */
  readonly languages?: readonly string[];
  /** The most Credits that the request may consume. */
  readonly budgetCredits?: number;
  /** The address of the wallet that pays. */
  readonly agentWallet?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Paths of fields that change the bill and have no price in the catalog; absent for none. */
  readonly unpriced?: readonly string[];
  /**
   * Paths of setting members that have no neutral name, and that a translation therefore loses. `unnamed` is absent if all setting members
   * have neutral names.
   */
  readonly unnamed?: readonly string[];
  /** The task that the caller states. The caller's task replaces the task that Signalbox reads from the conversation. */
  readonly task?: string;
  /** Sizes in tokens that the caller states. The caller's sizes replace the sizes of the conversation. */
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}
