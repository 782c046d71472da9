import type { LanguageSupport, Languages } from '../core/policy/language-support.ts';
import { emptyBits, setBit } from '../core/policy/rules.ts';
import type { PolicySnapshot, WildcardModel } from '../core/policy/snapshot.ts';

/**
 * Returns a policy for requests that name this model of a wildcard. The model is the only model in the returned policy, so it never
 * competes with other models. Endpoint slots are the same as in the original policy.
 */
export function snapshotWith({ model, allowed, preferred }: WildcardModel, snapshot: PolicySnapshot): PolicySnapshot {
  const bitsAt = (index: number, count: number, areSet: boolean) => {
    const bits = emptyBits(index + count);
    for (let at = index; areSet && at < index + count; at++) setBit(bits, at);
    return bits;
  };
  return {
    ...snapshot,
    isOfWildcard: true,
    models: [model],
    maxOutputMin: model.maxOutput,
    modelIndex: new Map([[model.id, 0]]),
    baseline: null,
    languages: languagesOf(snapshot.languages),
    constraints: snapshot.constraints.map((one, at) =>
      one.allows === null ? one : { ...one, allows: bitsAt(model.firstSlot, model.endpoints.length, allowed[at]!) },
    ),
    preferences: snapshot.preferences.map((one, at) => ({ ...one, prefers: bitsAt(0, 1, preferred[at]!) })),
  };
}

/** The model of a wildcard declares no programming language, so it never replaces models that do. */
function languagesOf({ byName, admitUnstated }: Languages): Languages {
  const supports = [...byName].map(([name, { isDeclared }]): [string, LanguageSupport] => {
    const qualifies = emptyBits(1);
    if (admitUnstated && !isDeclared) setBit(qualifies, 0);
    return [name, { qualifies, isDeclared }];
  });
  return { byName: new Map(supports), admitUnstated };
}
