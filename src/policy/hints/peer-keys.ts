import { didYouMean } from '../../core/text/text.ts';
import type { Tree } from '../yaml/tree.ts';
import { listNames, nearestHint } from './nearest.ts';

/** An unknown key of a map. */
export interface UnknownKey {
  readonly key: string;
  readonly value: Tree | undefined;
  /** The map that has the unknown key. */
  readonly owner: Tree | undefined;
  /** The keys that the map may have. */
  readonly known: readonly string[];
}

/** The text to write instead of an unknown key. */
export interface KeyRemedy {
  readonly hint: string;
  /** The known key that the unknown key stands for. The known key is then not also reported as missing. */
  readonly meant?: string | undefined;
}

/** Keys and sections of other tools, and what to write in Signalbox instead. */
interface PeerKeys {
  readonly words: readonly string[];
  /** The key with this meaning. The entry applies only where this key is known; without `meant`, the entry applies everywhere. */
  readonly meant?: string;
  /** Without `hint`, the hint is `did you mean …?` with the intended key. */
  readonly hint?: string;
}

const words = (text: string): readonly string[] => text.split(' ');

/** Sections of a LiteLLM configuration. */
export const LITELLM_SECTIONS: ReadonlySet<string> = new Set(
  words('model_list litellm_settings router_settings general_settings environment_variables'),
);

const FALLBACKS =
  'write `fallbacks` in the model or selector that it belongs to: a list of models, or one list for each of `error`, `rate_limit`, `context` and `refused`';

const PEER_KEYS: readonly PeerKeys[] = [
  {
    words: [...LITELLM_SECTIONS],
    hint: 'this is a LiteLLM configuration: `signalbox import litellm FILE` converts it to a policy',
  },
  { words: words('fallback fallbacks fallback_models default_fallbacks context_window_fallbacks'), hint: FALLBACKS },
  {
    words: ['default_model'],
    hint: 'there is no default model: callers send the name of a selector as `model`, such as `auto`. To define your own choice, add a selector: `selectors: { mine: { strategy: auto } }`',
  },
  { words: ['rpm'], hint: 'write `requests_per_minute`' },
  { words: ['tpm'], hint: 'write `tokens_per_minute`' },
  { words: words('rules rule policies policy'), meant: 'constraints' },
  { words: words('if match condition conditions'), meant: 'when' },
  { words: words('if when condition conditions'), meant: 'match' },
  { words: words('period duration budget_duration interval'), meant: 'window' },
  { words: words('max_tokens max_output_tokens max_completion_tokens'), meant: 'max_output' },
  {
    words: words('max_input_tokens context_length max_context_length context_size'),
    meant: 'context_window',
    hint: `${didYouMean('context_window')} It counts the tokens of input and output together`,
  },
  {
    words: words('type kind api_type provider_type custom_llm_provider'),
    meant: 'adapter',
    hint: `${didYouMean('adapter')} For a service that Signalbox knows, write \`preset\` instead, such as \`preset: openai\``,
  },
  {
    words: ['quality_floor'],
    meant: 'quality_enough',
    hint: 'in version 2, this strategy calls it `quality_enough`: the quality that is always good enough. `quality_floor` is the minimum quality of the other strategies',
  },
  { words: words('api_base api_url endpoint url host'), meant: 'base_url' },
];

/** Returns what to write instead of a key that other tools have; undefined for other keys. @param known the keys that are allowed here */
export function peerKey(key: string, known: readonly string[]): KeyRemedy | undefined {
  const found = PEER_KEYS.find(
    ({ words, meant }) => words.includes(key) && (meant === undefined || known.includes(meant)),
  );
  return found && { hint: found.hint ?? didYouMean(`${found.meant}`), meant: found.meant };
}

/**
 * Returns the hint for an unknown key: what to write instead. @param otherwise the hint for a key without a remedy that resembles no known
 * key
 */
export const insteadOf = (key: string, known: readonly string[], remedy?: KeyRemedy, otherwise?: string) => ({
  // The remedy is more helpful than the list of known keys.
  ...(!remedy && { expected: known.length > 0 ? `one of ${listNames(known)}` : 'no keys at all' }),
  hint: remedy?.hint ?? nearestHint(key, known) ?? otherwise,
});

/** Whether a map states a key, or a word with which other tools express it. */
export const isStated = (tree: Tree, key: string): boolean =>
  tree.kind === 'map' && tree.entries.some((entry) => entry.key === key || peerKey(entry.key, [key])?.meant === key);
