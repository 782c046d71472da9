import { shipped } from '../../plugins/index.ts';
import type { ChatRequest } from '../../src/core/api/chat-request.ts';
import { type Caller, SCOPES } from '../../src/core/people/caller.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { buildRuntime, type Runtime, strategyOf } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { chatFacts, routeFacts } from '../../test/support/chat-body.ts';

const CALLER: Caller = {
  keyId: 'bench',
  scopes: new Set(SCOPES),
  labels: {},
  models: null,
  limits: null,
  budgets: [],
};

/** A prompt, and the prompt's task if the caller states one. */
export interface ChatInput {
  readonly prompt: string;
  readonly task: string | null;
}

/** Signalbox without HTTP, upstreams and store. The real path decides chats. */
export class RealPath {
  readonly #runtime: Runtime;

  constructor(policy: string) {
    this.#runtime = runtimeOf(policy);
  }

  /** Returns Q of the given models in a decision. */
  qualities(input: ChatInput, models: readonly string[]): number[] {
    const { snapshot, decider } = this.#runtime;
    const facts = this.#read(input);
    const decision = decider.decide(facts, { id: 0, seed: '0', ...strategyOf(facts, this.#runtime) });
    if (isRefusal(decision)) throw new Error('the request was refused');
    return models.map((id) => decision.quality[snapshot.modelIndex.get(id)!]!);
  }

  /** Returns the model that the selector `auto` chooses. @param change of the facts that were read */
  choose({ prompt }: ChatInput, change: (facts: Facts) => Facts = (facts) => facts): string {
    const { snapshot, decider } = this.#runtime;
    const body = { messages: [{ role: 'user' as const, content: prompt }], model: 'auto' };
    const facts = change(chatFacts(body, CALLER, snapshot));
    const decision = decider.decide(facts, { id: 0, seed: '0', ...strategyOf(facts, this.#runtime) });
    if (isRefusal(decision)) throw new Error('the request was refused');
    return snapshot.models[decision.ranked[0].model]!.id;
  }

  /** Returns the tasks that a prompt may be, with their shares. */
  tasksOf(prompt: string): readonly { readonly task: string; readonly share: number }[] {
    const { task, mix } = this.#read({ prompt, task: null });
    return mix.length === 0 ? [{ task, share: 1 }] : mix;
  }

  #read({ prompt, task }: ChatInput): Facts {
    const messages: ChatRequest['messages'] = [{ role: 'user', content: prompt }];
    const body = { messages, model: 'auto' };
    const { snapshot } = this.#runtime;
    return task === null
      ? chatFacts(body, CALLER, snapshot)
      : routeFacts({ ...body, task_type: task }, CALLER, snapshot);
  }
}

function runtimeOf(text: string): Runtime {
  const registry = createRegistry(shipped);
  const env = { get: () => undefined };
  const { snapshot, diagnostics } = loadPolicy([{ path: 'policy.yaml', text }], {
    env,
    ...registry,
    revisionOf: (content) => Bun.hash(content).toString(36),
  });
  if (!snapshot) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return buildRuntime(snapshot, registry, env);
}
