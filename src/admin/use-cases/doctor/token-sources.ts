import { iso } from '../../../core/time/clock.ts';
import type { SecretStatus } from '../../../policy/runtime/secret-files.ts';
import { type DoctorRun, type Finding, fine, problem, type ServerFacts, sentence, warning } from './finding.ts';

export function checkTokenSources(_: DoctorRun, { secrets }: ServerFacts): readonly Finding[] {
  const sources = secrets.filter(({ source }) => source !== 'file');
  if (sources.length === 0) return [fine('The server has no token sources.')];
  return sources.map(sourceFinding);
}

const ADVICE =
  'See the page on credentials of clouds for what the source needs. The server tries again within a minute.';

function sourceFinding({ variable, source, isSet, expiresAt, problem: why, readAt }: SecretStatus): Finding {
  const subject = `${variable} (${source})`;
  const until = expiresAt === null ? '' : ` until ${iso(expiresAt)}`;
  if (!isSet) {
    const reason = why ?? (readAt === null ? 'it is being fetched' : 'it has ended');
    return problem(sentence(`There is no valid token: ${reason}`), ADVICE, subject);
  }
  if (why !== null)
    return warning(sentence(`The last token serves${until}, and it cannot be renewed: ${why}`), ADVICE, subject);
  return fine(`The token is valid${until}.`, subject);
}
