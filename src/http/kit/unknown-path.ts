import { SignalboxError } from '../../core/errors.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../../core/kinds/operations.ts';
import { editDistance } from '../../core/text/edit-distance.ts';
import { capital, didYouMean } from '../../core/text/text.ts';
import { UNSERVED } from '../../dialects/surfaces.ts';
import { nearest } from '../../policy/report/nearest.ts';
import { isTemplate } from './path-template.ts';
import type { RouteTable } from './route-table.ts';

/** Longer paths are not compared with known paths. */
const COMPARED_MAX = 60;
/** A path with at most this many wrong letters counts as a typing mistake, and not as a path of another API. */
const SLIP_MAX = 2;

/** Paths of the management APIs of LiteLLM, OpenRouter, Portkey and Kong, and the path with the same purpose. */
export const PEER_PATHS: readonly (readonly [path: RegExp, own: string, command: string])[] = [
  [/^\/key\/generate$/, 'POST /admin/keys', 'keys create'],
  [/^\/key\//, '/admin/keys', 'keys'],
  [/^\/user\//, '/admin/users', 'users'],
  [/^\/team\//, '/admin/teams', 'teams'],
  [/^\/(?:global\/)?spend(?:\/|$)/, 'GET /admin/usage', 'ledger usage'],
  [/^\/budget\//, '/admin/keys', 'keys create --budget 20/month'],
  [/^\/(?:customer|end_user)\//, '/admin/keys', 'keys'],
  [/^\/(?:api\/v1\/)?(?:keys?|api-keys|virtual-keys|consumers)(?:\/|$)/, '/admin/keys', 'keys'],
  [/^\/(?:api\/v1\/)?credits$/, 'GET /admin/ledger', 'ledger status'],
  [/^\/(?:api\/v1\/)?generation$/, 'GET /admin/decisions', 'decisions show ID'],
  [/^\/guardrails(?:\/|$)/, 'GET /admin/guards', 'guards list'],
  [/^\/(?:config|configs|services|routes|plugins)(?:\/|$)/, 'GET /admin/policy', 'policy push'],
  [/^\/model\/(?:info|new|delete|update)$/, 'GET /v1/models', 'policy explain'],
];

/** The error for an unknown path. The error names the path that the caller probably meant. */
export function nothingAt(path: string, routes: RouteTable): SignalboxError {
  return new SignalboxError('not_found', `There is nothing at ${printable(path)}. ${helpFor(path, routes)}`);
}

function helpFor(path: string, routes: RouteTable): string {
  const plain = path.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  const below = plain.replace(/^(?:\/v1)+(?=\/)/, '');
  const right = `/v1${below}`;
  if (routes.find(right)) {
    return below === plain
      ? `Use ${printable(right)}. The base URL of a client ends with /v1.`
      : `Use ${printable(right)}.`;
  }
  const peer = PEER_PATHS.find(([known]) => known.test(below));
  if (peer) return `In Signalbox this is ${peer[1]}, or the command \`signalbox ${peer[2]}\`.`;
  const meant = path.length > COMPARED_MAX ? null : nearestIn(routes, [plain, right]);
  const other = UNSERVED.find((api) => api.path.test(below) || api.path.test(plain));
  if (meant !== null && (!other || editDistance(right, meant, SLIP_MAX) <= SLIP_MAX)) return capital(didYouMean(meant));
  if (other) return `Signalbox does not serve ${other.name} yet. ${servedIn(routes)}`;
  return `${servedIn(routes)} /docs lists every path.`;
}

/** Lists what Signalbox serves at which paths. */
function servedIn({ rules }: RouteTable): string {
  const pathsOf = (operation: Operation) =>
    rules
      .filter((rule) => rule.operation === operation && rule.method === 'POST' && !isTemplate(rule.path))
      .map(({ path }) => path)
      .join(', ');
  const all = OPERATION_NAMES.map((name) => `${OPERATIONS[name].serves} at ${pathsOf(name)}`);
  return `Signalbox serves ${all.filter((one) => !one.endsWith(' at ')).join(', and ')}.`;
}

/**
 * Finds the nearest route. A route with parameters takes them from a path whose other segments are similar. The last resort is the
 * beginning of a path.
 */
function nearestIn({ rules }: RouteTable, paths: readonly string[]): string | null {
  const patterns = new Set(rules.map((rule) => rule.path).filter((path) => !path.includes('*') && !isTemplate(path)));
  for (const path of paths) {
    const given = path.split('/');
    const known = [...patterns].flatMap((pattern) => {
      const steps = pattern.split('/');
      if (!pattern.includes(':')) return [pattern];
      if (steps.length !== given.length || !steps.every((step, at) => isNear(step, given[at] ?? ''))) return [];
      return [steps.map((step, at) => (step[0] === ':' ? given[at] : step)).join('/')];
    });
    const meant = nearest(path, known);
    if (meant !== null) return meant;
  }
  return [...patterns].find((known) => paths.some((path) => path.startsWith(`${known}/`))) ?? null;
}

const isNear = (step: string, given: string): boolean =>
  step === given || step[0] === ':' || nearest(given, [step]) !== null;

/** Shortens a caller's path, so that a message can repeat it. */
export function printable(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}…` : path;
}
