import type { ProviderFailure } from '../../../contract/parts.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { plural } from '../../../core/text/text.ts';
import { SameModels } from '../../../policy/models/same-model.ts';
import { leftOutProviders } from '../../../policy/runtime/candidate.ts';
import { failureText } from '../../../providers/failures.ts';
import { unpricedModels } from '../catalog/unpriced.ts';
import { checkWords } from '../policy/folder-words.ts';
import { type DoctorRun, type Finding, fine, type LoadedPolicy, notChecked, problem, warning } from './finding.ts';
import type { KeyCall } from './provider-calls.ts';

/** How many names a sentence lists. */
const NAMES_MAX = 5;

/** Writes names, and the number of further names: `a, b and 3 more`. */
export const namesText = (names: readonly string[], most = NAMES_MAX): string => {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
};

const subjectOf = ({ target, keyName }: KeyCall): string =>
  keyName === null ? target.provider.name : `${target.provider.name} (${keyName})`;

/** Checks that each provider in use accepts its key, and has the models of the policy. */
export async function checkProviders(run: DoctorRun, policy: LoadedPolicy): Promise<readonly Finding[]> {
  const calls = await run.calls(policy);
  const { snapshot } = policy.runtime;
  const called = new Set(calls.map(({ target }) => target.provider.name));
  const leftOut = snapshot.leftOut.filter(({ name }) => !called.has(name));
  const silent = leftOutProviders({ leftOut });
  const findings = calls.map((call) => providerFinding(call, run, snapshot));
  if (calls.length === 0)
    findings.push(
      warning(
        'No model of a provider serves, so only simulated models answer.',
        `Set the key of a provider, such as OPENAI_API_KEY, in the environment of the server. \`${run.command(`${checkWords(run.folder)} --all`)}\` lists the variables.`,
      ),
    );
  else if (silent.length > 0)
    findings.push(
      notChecked(
        `${plural(silent.length, 'provider')} cannot serve here: ${namesText(silent)}.`,
        'Nothing, if you do not use these providers. Otherwise set their variables in the environment of the server.',
      ),
    );
  return findings;
}

/** Says what a call shows about a key. */
function providerFinding(call: KeyCall, { command }: DoctorRun, snapshot: PolicySnapshot): Finding {
  const { outcome, target, upstreams } = call;
  const subject = subjectOf(call);
  const host = hostOf(target.provider.baseUrl);
  if (outcome === 'not_called')
    return notChecked('The time for this run was over before this key was tried.', 'Run the checks again.', subject);
  if (outcome === 'no_list')
    return notChecked(
      'Signalbox reads no list of models from this kind of provider, so no free call tests the key.',
      'Send a request to one of its models.',
      subject,
    );
  if ('kind' in outcome) return failureFinding(outcome, call, subject, host);
  if (outcome.length === 0 && upstreams.length === 0)
    return warning(
      `${host} accepts the call, but lists no model.`,
      'Load a model into the model server; Signalbox looks again every 30 seconds.',
      subject,
    );
  const listed = new SameModels(outcome.map(({ id }) => id));
  const absent = upstreams.filter((upstream) => listed.namesOf(upstream).length === 0);
  if (absent.length === 0) {
    const found = `${host} accepts the call and lists ${plural(outcome.length, 'model')}.`;
    const unpriced = unpricedModels(target.provider.name, outcome, snapshot);
    if (unpriced.length === 0) return fine(found, subject);
    return {
      ...fine(
        `${found} The price of ${plural(unpriced.length, 'model')} is not known: ${namesText(unpriced)}.`,
        subject,
      ),
      advice: `Signalbox refuses requests for these models. \`${command(`catalog update ${target.provider.name}`)}\` proposes entries for them.`,
    };
  }
  return warning(
    `${host} accepts the call, but its list lacks ${plural(absent.length, 'model')} of the policy: ${namesText(absent)}.`,
    `Check the names under \`upstream\` in the policy. \`${command(`catalog update ${target.provider.name}`)}\` shows the models that the provider has.`,
    subject,
  );
}

function hostOf(baseUrl: string | null): string {
  return (baseUrl && URL.parse(baseUrl)?.host) || 'The provider';
}

function failureFinding(
  failure: ProviderFailure,
  { variable, keyName, target }: KeyCall,
  subject: string,
  host: string,
): Finding {
  const said = failureText(failure);
  const { kind, status } = failure;
  if (target.sourced?.token() === null)
    return problem(`${host} was not called: ${said}.`, 'See the finding on token sources.', subject);
  if (kind === 'auth' || status === 401 || status === 403)
    return problem(
      `${host} refuses the key${keyName === null ? '' : ` ${keyName}`}: ${said}.`,
      variable === null
        ? `Name the variable with the key in \`providers.${target.provider.name}.api_key_env\`.`
        : `Put a valid key into ${variable}. After a change of the environment, restart the server; a file named by ${variable}_FILE is read again within two seconds.`,
      subject,
    );
  if (kind === 'connect' || kind === 'timeout')
    return problem(
      `${host} cannot be reached: ${said}.`,
      `Check the address of the provider (\`base_url\`, or the variable that has it), DNS, firewalls and HTTPS_PROXY on the machine of the server. Start the model server if it is your own.`,
      subject,
    );
  if (kind === 'credit')
    return problem(`The account at ${host} has no credit left: ${said}.`, 'Add credit at the provider.', subject);
  if (kind === 'rate_limited' || kind === 'overloaded' || kind === 'server')
    return warning(
      `${host} did not answer with its list of models: ${said}.`,
      'Run the checks again in a minute. If it stays so, see the status page of the provider.',
      subject,
    );
  return warning(
    `${host} answers, but not with a list of models: ${said}.`,
    'Check the path in `base_url` of the provider. If the service has no list of models, send a request to one of its models.',
    subject,
  );
}
