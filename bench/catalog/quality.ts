import { type Abilities, abilitiesOf, type Derivation } from './ability.ts';
import { EFFORTS, type Effort, type Facts } from './facts.ts';
import { EASE, MEASURES, TASKS, type TaskMapping } from './mapping.ts';

export interface Quality {
  /** The share of good answers by task, including `default`; rounded. */
  readonly shares: Readonly<Record<string, number>>;
  readonly derivation: Readonly<Record<string, Derivation>>;
  /** The day of the newest evidence. */
  readonly asOf: string;
}

/** Returns the quality of a model, for the tasks that it can do. */
export function qualityOf(abilities: Abilities, model: string, can: (task: string) => boolean): Quality {
  const shares: Record<string, number> = {};
  const derivation: Record<string, Derivation> = {};
  let asOf = '';
  let sum = 0;
  let weights = 0;
  for (const [task, mapping] of Object.entries(TASKS)) {
    const ability = abilities.of(model, MEASURES[task] ?? []);
    const share = shareOf(mapping, ability.logits);
    sum += mapping.traffic * share;
    weights += mapping.traffic;
    if (ability.asOf > asOf) asOf = ability.asOf;
    if (!can(task)) continue;
    shares[task] = rounded(share);
    derivation[task] = ability.derivation;
  }
  return { shares: { default: rounded(sum / weights), ...shares }, derivation, asOf };
}

/** Returns the share of good answers, 0 to 1, of a model with this ability. A higher ability gives a higher share. */
export function shareOf({ mix: [easy, usual, hard], slope, ceiling }: TaskMapping, logits: number): number {
  const chance = (ease: number) => 1 / (1 + Math.exp(-(slope * logits + ease)));
  return ceiling * (easy * chance(EASE.easy) + usual * chance(EASE.usual) + hard * chance(EASE.hard));
}

/** Rounds to 0.01, and from 0.9 on to 0.005, because models above 0.9 are closer together. */
const rounded = (share: number): number =>
  share < 0.9 ? Math.round(share * 100) / 100 : Math.round(share * 200) / 200;

export interface Comparison {
  readonly task: string;
  readonly what: string;
  readonly observed: number;
  readonly computed: number;
  readonly models: number;
}

/** Returns the pooled tests on ordinary requests, together with what the mapping predicts for the same models at the same efforts. */
export function compareOrdinary(facts: Facts): Comparison[] {
  const abilities = abilitiesOf(facts);
  return facts.ordinary.map(({ task, what, share, at }) => {
    const computed = at.map((entry) => {
      const [model = '', effort = ''] = entry.split(' ');
      return expected(abilities, model, effortOf(effort), task);
    });
    const mean = computed.reduce((sum, one) => sum + one, 0) / computed.length;
    return { task, what, observed: share, computed: mean, models: at.length };
  });
}

/** Returns the expected share. `general` has no mapping of its own, so it is the mean of all tasks by their traffic. */
function expected(abilities: Abilities, model: string, effort: Effort, task: string): number {
  const tasks = Object.entries(TASKS).filter(([name]) => name === task || task === 'general');
  const total = tasks.reduce((sum, [, { traffic }]) => sum + traffic, 0);
  return tasks.reduce((sum, [name, mapping]) => {
    const { logits } = abilities.of(model, MEASURES[name] ?? [], effort);
    return sum + (mapping.traffic / total) * shareOf(mapping, logits);
  }, 0);
}

function effortOf(text: string): Effort {
  const found = EFFORTS.find((effort) => effort === text);
  if (found === undefined) throw new TypeError(`no effort ${text}`);
  return found;
}
