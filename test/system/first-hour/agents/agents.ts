/** The arguments of an agent's command line. */
type Arguments = (prompt: string) => readonly string[];

/** How to find, open and use a session in a terminal. */
export interface TerminalUse {
  /** The command that prints the sessions of the folder as JSON, the latest first, each with `sessionId`. */
  readonly sessions: readonly string[];
  readonly open: (session: string) => readonly string[];
  /** The text that the terminal shows while it waits for a prompt. */
  readonly ready: string;
}

/** A coding agent, installed and set up as its page in `docs/clients/` says. */
export interface Agent {
  readonly name: string;
  readonly program: string;
  /** The page, with the heading of the part about the agent if the page has other parts. */
  readonly page: readonly [file: string, heading?: string];
  /** The configuration file of the page, in the home folder; absent if the page has none. */
  readonly config?: string;
  /** True for an agent that sends every request to the proxy in the environment, whatever `NO_PROXY` says. */
  readonly ignoresNoProxy?: boolean;
  /** The arguments that run a prompt in a new session. */
  readonly run: Arguments;
  /** The arguments that run another prompt in the latest session of the folder; absent for an agent that resumes only in a terminal. */
  readonly resume?: Arguments;
  /** Opens a session in a terminal. */
  readonly terminal?: TerminalUse;
}

export const AGENTS: readonly Agent[] = [
  {
    name: 'Claude Code',
    program: 'claude',
    page: ['claude-code.md'],
    run: (prompt) => ['-p', prompt, '--permission-mode', 'acceptEdits'],
    resume: (prompt) => ['-c', '-p', prompt, '--permission-mode', 'acceptEdits'],
  },
  {
    name: 'Codex',
    program: 'codex',
    page: ['codex.md'],
    config: '.codex/config.toml',
    run: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    resume: (prompt) => [
      'exec',
      'resume',
      '--last',
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      prompt,
    ],
  },
  {
    name: 'opencode',
    program: 'opencode',
    page: ['opencode.md'],
    config: '.config/opencode/opencode.json',
    run: (prompt) => ['run', prompt],
    resume: (prompt) => ['run', '--continue', prompt],
  },
  {
    name: 'qwen-code',
    program: 'qwen',
    page: ['qwen-code.md'],
    config: '.qwen/settings.json',
    // Version 0.15.10, which npm installs on Node 20, behaves like this.
    ignoresNoProxy: true,
    run: (prompt) => ['--approval-mode', 'auto-edit', '-p', prompt],
    resume: (prompt) => ['--approval-mode', 'auto-edit', '--continue', '-p', prompt],
  },
  {
    name: 'cline',
    program: 'cline',
    page: ['editors.md', 'Cline'],
    run: (prompt) => [prompt],
    terminal: { sessions: ['history', '--json'], open: (session) => ['--id', session], ready: 'Ask anything' },
  },
  {
    name: 'Kilo',
    program: 'kilo',
    page: ['editors.md', 'Kilo'],
    config: '.config/kilo/kilo.json',
    run: (prompt) => ['run', '--auto', prompt],
    resume: (prompt) => ['run', '--auto', '--continue', prompt],
  },
];
