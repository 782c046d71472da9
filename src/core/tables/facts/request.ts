import { OPERATION_NAMES } from '../../kinds/operations.ts';
import { toCredits } from '../../money/credits.ts';
import { CAPABILITIES, capabilityNames } from '../../request/capability.ts';
import { type Facts, UNREAD_TASK } from '../../request/facts.ts';
import { type Fact, type FactsOf, factReader, NO_TEXTS, textMap } from './define.ts';

/** The parts of a request that only rules read. */
export interface RequestInputs {
  readonly stream: boolean;
  readonly user: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/** The request whose facts a rule reads. */
interface RequestSource {
  readonly facts: Facts;
  readonly inputs: RequestInputs;
  /** Returns the expected visible output of one choice, tokens. */
  outputTokens(): number;
}

/** A fact of a request. */
type RequestFact = Fact<RequestSource> & {
  /** Whether the fact is known without reading the text of the prompt; absent for false. */
  readonly isStated?: true;
  /** The value in all requests that consist of separate texts; absent if they differ. */
  readonly ofTexts?: string | number | boolean | readonly string[];
  /** Names of the fact in the API and in other gateways, for hints. */
  readonly otherNames?: readonly string[];
};

const NO_NAMES: readonly never[] = [];

/**
 * The facts of a request that `when` of a rule can use: figures and names. The only texts in the facts of rules are the texts that callers
 * write for rules (`metadata`, `user`).
 */
export const REQUEST_FACTS = {
  operation: {
    type: 'string',
    means: `The operation: ${OPERATION_NAMES.map((name) => `\`${name}\``).join(' or ')}.`,
    empty: 'chat',
    read: ({ facts }) => facts.operation,
    isStated: true,
  },
  model: {
    type: 'string',
    means: 'The selector or model that the caller requests.',
    empty: 'auto',
    read: ({ facts }) => facts.model,
    isStated: true,
  },
  task: {
    type: 'string',
    means: 'The task that Signalbox recognises, such as `coding`.',
    empty: 'general',
    read: ({ facts }) => facts.task,
    ofTexts: UNREAD_TASK,
    otherNames: ['task_type'],
  },
  difficulty: {
    type: 'string',
    means: 'How hard the request is: `easy`, `hard` or `usual`.',
    empty: 'usual',
    read: ({ facts }) => facts.difficulty,
    ofTexts: 'usual',
  },
  input_tokens: {
    type: 'double',
    means: 'Expected input, tokens.',
    empty: 0,
    read: ({ facts }) => facts.inputTokens,
    isStated: true,
    otherNames: ['estimated_input_tokens', 'prompt_tokens'],
  },
  max_tokens: {
    type: 'double',
    means: "The caller's cap on output tokens; 0 without a cap.",
    empty: 0,
    read: ({ facts }) => facts.outputTokensMax ?? 0,
    isStated: true,
    ofTexts: 0,
    otherNames: ['max_completion_tokens', 'max_output_tokens'],
  },
  stream: {
    type: 'bool',
    means: 'Whether the caller requests a stream.',
    empty: false,
    read: ({ inputs }) => inputs.stream,
    isStated: true,
    ofTexts: false,
  },
  tools: {
    type: 'bool',
    means: 'Whether the request offers tools.',
    empty: false,
    read: ({ facts }) => (facts.needs & CAPABILITIES.tools.bit) !== 0,
    isStated: true,
    ofTexts: false,
  },
  images: {
    type: 'double',
    means: 'Number of images.',
    empty: 0,
    read: ({ facts }) => facts.images,
    isStated: true,
    ofTexts: 0,
  },
  output_tokens: {
    type: 'double',
    means: 'Expected visible output of one choice, tokens.',
    empty: 0,
    read: (source) => source.outputTokens(),
    ofTexts: 0,
    otherNames: ['estimated_output_tokens'],
  },
  needs: {
    type: 'list<string>',
    means: 'Features that the model must have, such as `tools`.',
    empty: NO_NAMES,
    read: ({ facts }) => (facts.needs === 0 ? NO_NAMES : capabilityNames(facts.needs)),
    isStated: true,
    otherNames: ['capabilities'],
  },
  languages: {
    type: 'list<string>',
    means: 'Programming languages that the question is about or that the request requires, by canonical names.',
    empty: NO_NAMES,
    read: ({ facts: { languagesSeen: seen, languages } }) =>
      languages.length === 0 ? seen : [...new Set([...seen, ...languages])],
    ofTexts: NO_NAMES,
    otherNames: ['required_languages', 'language'],
  },
  natural_language: {
    type: 'string',
    means: 'Language of the question, such as `en` (ISO 639-1); `und` if unclear.',
    empty: '',
    read: ({ facts }) => facts.naturalLanguage,
    ofTexts: 'und',
  },
  budget_limit: {
    type: 'double',
    means: "The caller's `budget_limit`, Credits; 0 without a limit.",
    empty: 0,
    read: ({ facts }) => (facts.budget === null ? 0 : toCredits(facts.budget)),
    isStated: true,
  },
  service_tier: {
    type: 'string',
    means: 'The service tier that the caller requests, such as `flex`; empty for the default tier.',
    empty: '',
    read: ({ facts }) => facts.addOns?.tier ?? '',
    isStated: true,
    ofTexts: '',
  },
  user: {
    type: 'string',
    means: 'The field `user` of the request; empty if the caller sends none.',
    empty: '',
    read: ({ inputs }) => inputs.user,
    isStated: true,
  },
  metadata: {
    type: 'map<string, string>',
    means: 'The field `metadata` of the request; a missing key reads as the empty text.',
    empty: NO_TEXTS,
    read: ({ inputs }) => textMap(inputs.metadata),
    isStated: true,
  },
} as const satisfies Readonly<Record<string, RequestFact>>;

export type RequestFacts = FactsOf<typeof REQUEST_FACTS>;

/** The rows for code that handles all facts alike. */
export const REQUEST_FACT_ROWS: readonly (readonly [name: string, fact: RequestFact])[] = Object.entries(REQUEST_FACTS);

/** Returns the facts of a request for conditions of rules. */
export const readRequest = factReader<RequestSource, typeof REQUEST_FACTS>(REQUEST_FACTS);
