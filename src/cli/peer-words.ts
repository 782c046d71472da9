import { capital, didYouMean } from '../core/text/text.ts';

/** Command names of other tools, and the Signalbox command that does the same. */
interface PeerWords {
  /** The word that the other tools use, and its variants. */
  readonly words: readonly [string, ...string[]];
  /** The tools that use the first word. */
  readonly tools: string;
  /** The whole command, or the last word of commands in several groups, such as `list`. Absent if no command is needed. */
  readonly command?: string;
  /** A sentence for users of the other tools. */
  readonly note?: string;
  /** The only group in which the words have this meaning. */
  readonly within?: string;
}

const PEER_WORDS: readonly PeerWords[] = [
  { words: ['run', 'start'], tools: 'Caddy', command: 'serve' },
  { words: ['up'], tools: 'Docker Compose', command: 'serve' },
  {
    words: ['stop', 'down', 'kill'],
    tools: 'Caddy',
    note: 'Ctrl-C or SIGTERM stops a server once its running requests are answered.',
  },
  {
    words: ['reload'],
    tools: 'Caddy',
    command: 'policy check',
    note: 'A running server applies an edited policy within a second, so no command reloads it.',
  },
  { words: ['validate', 'verify'], tools: 'Caddy and Terraform', command: 'policy check' },
  { words: ['lint'], tools: 'Helm', command: 'policy check' },
  {
    words: ['config', 'configure'],
    tools: 'Docker Compose',
    command: 'policy check',
    note: 'The configuration is the policy: YAML files in one folder.',
  },
  { words: ['apply'], tools: 'kubectl and Terraform', command: 'policy push' },
  { words: ['deploy', 'publish'], tools: 'Wrangler', command: 'policy push' },
  { words: ['plan'], tools: 'Terraform', command: 'policy diff' },
  { words: ['eval', 'evaluate'], tools: 'Open Policy Agent', command: 'policy explain' },
  {
    words: ['fmt', 'format'],
    tools: 'Open Policy Agent',
    note: 'Any YAML formatter formats policy files, such as `npx prettier --write policies`.',
    within: 'policy',
  },
  {
    words: ['logs', 'log', 'tail', 'requests'],
    tools: 'Docker and kubectl',
    command: 'decisions list',
    note: '`decisions list` lists requests. The server writes its log to its standard output.',
  },
  { words: ['ps'], tools: 'Docker', command: 'instances' },
  { words: ['status', 'ping'], tools: 'systemctl', command: 'health' },
  { words: ['top'], tools: 'kubectl', command: 'traffic show' },
  { words: ['stats'], tools: 'Docker', command: 'traffic show' },
  { words: ['spend', 'cost', 'costs'], tools: 'LiteLLM', command: 'ledger usage' },
  {
    words: ['models', 'model'],
    tools: 'LiteLLM',
    command: 'policy explain',
    note: '`policy explain` lists every model with its estimates. A running server lists its models at `GET /v1/models`.',
  },
  {
    words: ['login', 'auth', 'token'],
    tools: 'Docker',
    command: 'keys create',
    note: 'Commands need no login, because they use the data folder directly. Clients and the console use a key.',
  },
  { words: ['ls'], tools: 'Docker', command: 'list' },
  { words: ['generate', 'new', 'add'], tools: 'LiteLLM', command: 'create' },
  {
    words: ['get', 'show', 'describe', 'view', 'export', 'list', 'ls'],
    tools: 'kubectl',
    command: 'policy history',
    within: 'policy',
    note: 'It lists the pushed revisions. The policy itself is the YAML files in its folder. A running server shows its active revision and files at `GET /admin/policy`.',
  },
  { words: ['describe', 'get', 'info', 'inspect'], tools: 'kubectl', command: 'show' },
  { words: ['update', 'edit', 'set'], tools: 'LiteLLM', command: 'change' },
  { words: ['delete', 'remove', 'rm'], tools: 'LiteLLM', command: 'revoke' },
  { words: ['remove', 'rm'], tools: 'Docker', command: 'delete' },
  { words: ['block', 'disable'], tools: 'LiteLLM', command: 'suspend' },
  { words: ['unblock', 'enable'], tools: 'LiteLLM', command: 'resume' },
];

/** A command with sentences that explain which word of another tool it corresponds to. */
export interface PeerCommand {
  readonly command: string | null;
  readonly sentences: readonly string[];
}

/**
 * Finds the command that users of other tools mean by a word.
 * @param start the group followed by a space, such as `policy `; '' for the first word of a command line
 * @param named the commands that begin with `start`
 * @returns undefined if the table does not have the word, or if no command of this group corresponds to it
 */
export function peerCommand(start: string, word: string, named: readonly string[]): PeerCommand | undefined {
  for (const { words, tools, command = null, note, within } of PEER_WORDS) {
    if (!words.includes(word) || (within !== undefined && start !== `${within} `)) continue;
    const notes = note === undefined ? [] : [note];
    if (command === null) {
      if (start === '' || within !== undefined) return { command, sentences: notes };
      continue;
    }
    const full = command.startsWith(start) ? command : start + command;
    if (named.includes(full)) {
      return {
        command: full,
        sentences: [`${capital(didYouMean(full))} It is \`${words[0]}\` in ${tools}.`, ...notes],
      };
    }
  }
  return undefined;
}
