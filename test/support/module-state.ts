/** Finds variables of modules that change, or may: what two applications in a process would share. */

/** Names of classes whose objects do not change. */
const CONSTANT =
  /^(?:RegExp|Intl\.\w+|TextEncoder|TextDecoder|SchemaCheck|Error|URL|Trie|Expressions|SignalboxError|Environment|Headers)$/;
const COLLECTION = /^(?:Map|Set|Array|\w+Array)$/;
const READONLY = /^\s*(?:readonly\b|Readonly\w*<)/;

/**
 * The variables of modules that may change. What an application remembers is a field of an object that it makes, so that two in
 * one process share nothing; the rest is here, by its kind.
 */
export const MAY_CHANGE: Readonly<Record<string, readonly string[]>> = {
  'kept for as long as a frozen object, and made of it alone': [
    'src/upstream/http-request.ts sharedHeaders',
    'src/money/charge.ts tariffs',
    'src/runtime/wildcard-runtime.ts runtimes',
    'src/routing/rules.ts keys',
    'src/policy/cel-types.ts copies',
    'src/http/model-list.ts directories',
    'src/contract/traits.ts known',
    'src/exchange/provider-address.ts addresses',
    'src/prompt/answer-table.ts answerers',
  ],
  'results of pure functions by their text, bounded': [
    'src/routing/profile/system-prompt.ts remembered',
    'src/routing/profile/tools.ts remembered',
    'src/routing/profile/user-message.ts remembered',
    'plugins/providers/anthropic/models.ts rulesByName',
  ],
  'written and read within one turn': [
    'src/core/tokens.ts last',
    'src/upstream/http1/socket-calls.ts descriptor',
    'src/routing/profile/task-logits.ts terms',
    'src/routing/profile/reading.ts ballot',
    'src/routing/profile/reading.ts stemsRead',
    'src/routing/profile/figures.ts figures',
  ],
  'filled while modules load': [
    'src/routing/profile/figures.ts SUMS',
    'src/routing/profile/lexicon/meaning.ts VOTES',
    'src/routing/profile/lexicon/meaning.ts votes',
    'src/routing/profile/lexicon/meaning.ts NAMES',
    'src/routing/profile/lexicon/meaning.ts nameIndex',
  ],
  'of a worker, which is an object of one application': [
    'src/tokenizer/count-worker.ts vocabularies',
    'src/tokenizer/count-worker.ts jobs',
  ],
  'of the process: rows of docs/state.md': [
    'src/telemetry/secrets.ts registry',
    'src/plugin-host/owners.ts owners',
    'src/store/sqlite/folder-lock.ts held',
    'src/core/command-name.ts program',
    'src/main.ts result',
  ],
};

/** Files that set timers of the process: for a socket, a worker, a file or another machine, which a simulated clock does not move. */
export const SETS_TIMERS: readonly string[] = [
  'src/cli/health.ts',
  'src/cli/plugin/trial.ts',
  'src/exchange/kept-answer.ts',
  'src/http/stream.ts',
  'src/http/watch.ts',
  'src/operate/policy/push.ts',
  'src/operate/served.ts',
  'src/outbound/outbound.ts',
  'src/payments/facilitator/chain-attempt.ts',
  'src/payments/facilitator/gas-key.ts',
  'src/payments/facilitator/remote.ts',
  'src/payments/facilitator/settlement-limit.ts',
  'src/plugin-host/load.ts',
  'src/request/count-places.ts',
  'src/runtime/parser.ts',
  'src/runtime/reload.ts',
  'src/runtime/source.ts',
  'src/telemetry/log.ts',
  'src/telemetry/process-timers.ts',
  'src/telemetry/process.ts',
  'src/telemetry/sink.ts',
  'src/telemetry/tracing/span-queue.ts',
  'src/tokenizer/counter.ts',
  'src/upstream/connection/listening.ts',
  'src/upstream/model-list.ts',
];
/** A call that sets one. */
export const TIMER_CALL = /\bset(?:Timeout|Interval)\(|\bBun\.sleep\(|\bAbortSignal\.timeout\(/;

/** A variable of a module. */
const VARIABLE = /^(?:export )?(const|let|var) (\w+)(?:: ([^=;]+?))?(?: = (.*)|;)$/;
const CHANGE =
  '(?:\\.(?:set|add|delete|clear|push|pop|shift|unshift|splice|fill|sort|reverse|copyWithin|getOrInsert\\w*|encodeInto)\\(|(?:\\.\\w+|\\[[^\\]]+\\])+\\s*(?:=(?![=>])|[-+*/|&^%]=|<<=|>>=|\\?\\?=|\\|\\|=|&&=|\\+\\+|--))';

/**
 * The variables of a module that change, or may.
 * @param code of a file, its comments and strings blanked
 */
export function changingVariables(code: string): string[] {
  const lines = code.split('\n');
  return lines.flatMap((line) => {
    const [, keyword, name = '', type = '', value = ''] = VARIABLE.exec(line) ?? [];
    if (keyword === undefined) return [];
    const [, made] = /^new ([\w.]+)/.exec(value) ?? [];
    const isOther = made !== undefined && !COLLECTION.test(made) && !CONSTANT.test(made);
    if (keyword !== 'const' || isOther) return [name];
    const holds = made === undefined ? /^[[{]/.test(value) : COLLECTION.test(made);
    return holds && !READONLY.test(type) && isChanged(name, lines) ? [name] : [];
  });
}

/** Whether a line within a function or a class changes it. Loops at the top of a module make constants. */
function isChanged(name: string, lines: readonly string[]): boolean {
  const change = new RegExp(`(?<![.\\w])(?:\\+\\+|--)?${name}${CHANGE}`);
  let isInside = false;
  for (const line of lines) {
    if (/^\S/.test(line) && !/^[}\])]/.test(line)) {
      isInside = /^(?:export )?(?:default )?(?:async )?(?:abstract )?(?:function|class)\b/.test(line);
      isInside ||= /^[\w.]+ = (?:async )?\(/.test(line);
      isInside ||= /^(?:export )?const \w+(?:: [^=]+)? = (?:async )?(?:\(|<|function|\w+ =>|\{$)/.test(line);
    }
    if (isInside && change.test(line) && !VARIABLE.test(line)) return true;
    if (isInside && /^(?:export )?const/.test(line) && change.test(line.slice(line.indexOf('=>')))) return true;
  }
  return false;
}
