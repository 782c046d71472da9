import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * The most lines of each room, without blank ones and comments. Code that needs more raises its room's figure in the commit that
 * needs it, with the reason beside the figure. A new room begins with its own.
 */
const LINES_MAX: Readonly<Record<string, number>> = {
  'plugins/estimators': 1048,
  'plugins/index.ts': 25,
  'plugins/providers': 4614,
  // 9 for the weight of latency.
  'plugins/strategies': 245,
  // 86 for state with an owner: a name is claimed with its hold and taken over from an instance that ended; only changed keys are
  // read.
  // 31 for the limit of reports, and names of keys.
  // 7 for keys that are suspended, and of a team or a user.
  // 1823 for keys that change, lines of keys, levels, people, logins, sign-in and tokens.
  // 13 for the policy tools over HTTP, and people in explanations and cases.
  // 6 for the playground.
  // 1 for changes that are carried out once for an `Idempotency-Key`.
  // 11 for signing out while a user is suspended, and for issuers that ask a person again.
  // 47 for keys that sign in.
  // 16 for the caller and the labels of a key by its ID, for explanations.
  // 2 for what is left of the budgets of teams and users.
  // 4 for refusals that name the team.
  // 13 for the state of a secret, apart from its use.
  // 422 for limits that instances share: slices, the line of those who wait, what waits to be told with others, and the counts of one process apart.
  // 8 for copies that are too old to judge by.
  // 50 for the limits of the newest policy, which hold where an older one is in force.
  // 485 in all rooms for limits on the keys of users, list pages that end at 1 MiB, and revoked keys that leave memory.
  'src/access': 4143,
  // 9 for the age of readings, and for what a late settlement takes back.
  // 28 for the lines of a bill.
  // 2 for the key of a fund.
  'src/accounting': 258,
  // Rules, readings and the sender of alerts to people.
  // 716 Alerts to people: rules, readings, and the sender.
  // 2 for the feed of events.
  // 2 for names of teams and users, in place of IDs.
  // 26 for servers at one database, with the policy of each.
  'src/alerts': 746,
  // 7 for people, keys that change and tokens.
  // 4 for changes that are carried out once for an `Idempotency-Key`.
  // 3 for the weight of latency.
  'src/api': 638,
  // 8 for the timers of the host, and the store of a command, which is no instance.
  // 57 for USD, `--month` and `--scope report`.
  // 134 for `signalbox trail`.
  // 790 for `keys change`, `teams`, `users`, `subjects`, `logins` and `alerts`.
  // 8 for filters of the trail.
  // 20 for what is left of the budgets of teams and users, as commands print it.
  // 5 for names of users in traffic.
  // 42 for servers at one database, with the policy of each.
  // 98 for the URL of a store, `signalbox db`, copies between SQLite and PostgreSQL, and negative numbers of flags, which are refused as such.
  // 103 for pushed policies, whose changes are one line each of the trail.
  // 55 for several processes at one port.
  // 3 for a history that no server follows.
  'src/cli': 5486,
  // 7 for the reader of files with secrets, and the commit behind the version.
  // 16 for `trail verify`, `export` and `erase`.
  // 26 for people, keys that change and tokens.
  // 20 for traffic.
  // 9 for servers at one database, with the policy of each.
  // 1 for the URL of a store.
  // 4 for `signalbox db`, and copies between SQLite and PostgreSQL.
  // 7 for `signalbox restart`.
  'src/commands.ts': 218,
  // 4 for adapters without keys.
  'src/conformance': 2115,
  // The web client.
  // 3,700 for the frame, the parts of a screen, charts and the overview.
  // 800 for the view of requests.
  // 2,400 for the policies and their editor.
  // 1,470 for the view Money, and the rest for the playground, people and the fleet.
  // 15 for all choices of an answer.
  // 6 for months by traffic.
  // 285 for Credits granted to a key, teams taken over, a focus that is never lost, and what a round of looking found.
  // 58 for payments in words, wallets that lead to keys and payments, and balances that lead to wallets.
  // 58 for figures that could not be read and say so, and sections that wait for those above, so that nothing jumps.
  // 10 for names of budgets that lead to their holders, and errors before warnings.
  // 3 for servers at one database, with the policy of each.
  // 1 for the price of a bill.
  // 1 for the same.
  // 10 for servers in the fleet of the console.
  'src/console': 14407,
  // 2 for the weight of latency.
  'src/contract': 489,
  // 26 for IDs of several makers, the timers of a host, and constants that are made once.
  // 38 for exact USD.
  // 7 for the same.
  // 221 for roles, levels, tokens and sign-in.
  // 3 for the policy tools over HTTP, and people in explanations and cases.
  // 3 for changes that are carried out once for an `Idempotency-Key`.
  // 1 for the console as it is served.
  // 1 for the playground.
  // 37 for lists without bodies.
  // 72 for histograms of times, which can be merged and stored.
  // 1 for the playground.
  // 81 for histograms of times, which can be merged and stored.
  // 1 for attempts that say when they began.
  // 2 for what is left of the budgets of teams and users.
  // 1 for the address of traces.
  // 2 for the places of teams.
  // 1 for servers at one database, with the policy of each.
  // 1 for the limits of the newest policy, and 10 for the lines of YAML.
  'src/core': 3547,
  // 41 for prices that the books tell: the outcome and the pause of an exchange have files of their own.
  // 35 for answers that end without a price once the lease is lost.
  // 1 for people, keys that change and tokens.
  'src/exchange': 1947,
  // 51 for the status of an instance, readiness by it, and keys whose copy is too old.
  // 167 for reports, USD, and the one box for the key on `/docs`.
  // 31 for the address of who changes, and the subject of each change.
  // 1857 for the routes of people, keys, child keys, sign-in, tokens and alerts.
  // 157 for changes that are carried out once for an `Idempotency-Key`.
  // 97 for the console as it is served.
  // 86 for the playground.
  // 25 for lists without bodies.
  // 154 for traffic by time.
  // 69 for keys that sign in.
  // 560 for the policy tools and the policy's files, half of it the schemas of their answers.
  // 316 for the feed of events.
  // 11 for the feed of events.
  // 25 for usage as CSV.
  // 10 for the list of models for people, and the weight of latency.
  // 76 for audits of the books over HTTP.
  // 137 for the money of a request and its decision by the policy in force.
  // 21 for what is left of the budgets of teams and users.

  // 7 for the trace of a request.
  // 12 for traffic beside the period before.
  // 12 for the names of holders of budgets.
  // 8 for the ID that a stream of events begins with.
  // 42 for servers at one database, with the policy of each.
  // 90 for pushed policies.
  // 26 for admissions that wait for shared limits.
  // 1 for servers that callers leave.
  // 2 for the same.
  // 19 for an export that fails before its first line, the document of a server that is not ready, and a console without its database.
  'src/http': 9106,
  // 105 for people, keys that change and tokens, and 7 for the sizes of a wildcard whose cap is above what a policy takes.
  'src/importers': 2801,
  // 65 for outcomes of other instances, learned in their order, up to the horizon.
  // 5 for the same.
  // 3 for people, keys that change and tokens.
  // 4 for memories that the leader stores.
  // 5 for outcomes that several instances add.
  'src/learning': 1143,
  // 11 for balances: they are summed in one pass, as there may be one for each holder that ever paid.
  // 227 for budgets that are counted in the books, a lost answer, and the sweep in place of a start that repairs.
  // 41 for USD in exports, and holds of an instance that lost its lease.
  // 10 for an earmark whose capture failed.
  // 196 for budgets at every level, and forecasts.
  // 7 for lists without bodies.
  // 12 for what is left of the budgets of teams and users.
  // 26 for budgets in the order in which they run out, by pages.
  // 13 for the sum of charges at the checkpoint.
  // 4 for servers at one database, with the policy of each.
  // 21 for books that know of holds of others.
  // 2 for the metrics of several processes.
  // 2 for the limits of the newest policy.
  // 28 for charges that a budget counts a moment later.
  // 15 for budgets that one server reports for all, and a reload that waits for its limits.
  'src/ledger': 2999,
  // 2 for the commit behind the version.
  // 15 for several processes at one port.
  'src/main.ts': 154,
  // 3 for an earmark that ends with a capture that failed.
  // 35 for people, keys that change and tokens.
  // 9 for refusals of the books, after which a request is decided once more.
  // 3 for copies that are too old to judge by.
  'src/money': 1692,
  // 31 for the place and the age of copies in status and metrics.
  // 197 for the table of roles, the view of a key for reports, USD beside Credits, and backups to the standard output.
  // 154 for the check of the trail and its export.
  // 22 for roles of people and how far each reaches.
  // 1147 for the one door: use cases of people, keys, logins, subjects and alerts by the table of roles.
  // 232 for the policy tools over HTTP, and people in explanations and cases.
  // 37 for lists without bodies.
  // 3 for the models that a login may give: those of its user and team.
  // 27 for the playground.
  // 406 for traffic: its periods, who sees which series, and its lines.
  // 14 for keys that sign in.
  // 1100 for the policy tools of a server: policies that are sent, explanations by the present, guarded edits, patches.
  // 51 for the feed of events.
  // 22 for the feed of events.
  // 74 for usage as CSV: the writer of tables was in cli.
  // 3 for the weight of latency.
  // 75 for audits of the books over HTTP.
  // 126 for the money of a request, line by line, and its decision by the policy in force.
  // 28 for what is left of the budgets of teams and users.
  // 3 for the classes of coverage, a file of their own.

  // 1 for the trace of a request.
  // 95 for traffic beside the period before, and names of keys in usage.
  // 42 for traffic by user and label.
  // 62 for months, the keys of a model, and slices of the books.
  // 9 for logins whose key or user has ended.
  // 15 for the texts of files on disk, and the worth of cases in USD.
  // 21 for the same.
  // 31 for servers at one database, with the policy of each.
  // 1 for the URL of a store.
  // 338 for pushed policies.
  // 19 for the state of a database.
  // 2 for the price of a bill.
  // 11 for readings of traffic that go out together.
  // 55 for copies between SQLite and PostgreSQL.
  // 14 for several processes at one port.
  // 15 for the spools of several processes, and pushes that no server follows, which the history says, too.
  'src/operate': 8244,
  // Requests to hosts that an operator names: looked up and checked each time.
  // 113 Requests to hosts that an operator names: looked up and checked each time.
  'src/outbound': 113,
  // 223 for payments and nonces that have an owner, and a sweep of those whose owner ended.
  // 4 for tokens of facilitators from files.
  // 4 for people, keys that change and tokens.
  // 18 for payments of nobody, which the leader checks.
  // 3 for copies that are too old to judge by.
  'src/payments': 2565,
  'src/plugin-host': 234,
  // 5 for timers of the host.
  // 71 for `metrics.key_label`, `records.reported_runs`, short keys and adapters without keys.
  // 996 for `organization`, `teams`, `sign_in`, `tokens` and `alerts`.
  // 16 for the policy tools over HTTP, and people in explanations and cases.
  // 6 for the console as it is served.
  // 11 for the address of traces.
  // 2 for the places of teams.
  // 1 for the speed that is declared.
  // 1 for an example of who may read kept texts.
  // 9 for servers at one database, with the policy of each, and keys that the schema for editors asks for beside others.
  'src/policy': 9584,
  // 6 for threads that are stored.
  'src/prompt': 783,
  // 4 for timers of the host.
  // 2 for people, keys that change and tokens.
  // 6 for traffic, which is counted before records go.
  // 4 for the feed of events.
  // 2 for counting that instances share.
  // 11 for partitions.
  // 9 for when old records were last deleted.
  'src/records': 525,
  // 8 for timers of the host.
  // 70 for the key label of metrics, at most 200 values of it.
  // 7 for people, keys that change and tokens.
  // 8 for the playground.
  // 66 for decisions that are made again by the policy in force.
  // 9 for requests that are decided once more.
  // 18 for requests whose limits the store counts.
  // 1 for servers that callers leave.
  // 1 for a server that is not ready any more and still answers.
  'src/request': 2284,
  // 3 for texts that show no quality above 99.9 %.
  // 25 for people, keys that change and tokens.
  // 10 for the weight of latency.
  'src/routing': 8787,
  // 49 for policies of quotes that are built from the store.
  // 113 for secrets in files: a policy is built again with the new value, and its revision stays.
  // 5 for the actor of a reload.
  // 6 for people, keys that change and tokens.
  // 225 for edits of several files that become the policy as one; a third of it was in operate.
  // 1 for secrets that are read once.
  // 32 for pushed policies, and a reload that waits for its limits.
  'src/runtime': 1610,
  // 211 for the sweep, the timers of a host, the copies that follow news, and IDs of requests by a maker of their own.
  // 63 for files of secrets, the commit of a clone, an archive or a build, and the loss of a lease.
  // 101 for the head of the trail, noted outside the store.
  // 178 for people, keys that change and tokens.
  // 1 for lists without bodies.
  // 7 for the console as it is served.
  // 7 for traffic.
  // 7 for the same.
  // 60 for the desk of the policy tools, and an edit that is finished at a start.
  // 20 for the feed of events.
  // 107 for audits of the books over HTTP.
  // 7 for names of teams and users, in place of IDs.
  // 140 for servers at one database, with the policy of each.
  // 17 for the URL of a store, and the data folder.
  // 153 for pushed policies.
  // 2 for holds that have ended.
  // 22 for jobs that one instance does for all.
  // 1 for the version that tables are made by.
  // 532 for several processes at one port.
  // 9 for the limits of the newest policy.
  // 15 for the spools of several processes, and data folders that one server has.
  // 14 for a stop that lets callers find another server.
  // 4 for the metrics of work that one server does for all.
  // 52 for processes that are stopped before they serve, stops that need not leave, a restart that says that it waits, looks that no change holds up, how long answers wait for limits, and the database that a start names.
  // 15 for the place that a second signal gives back, a start that says that it waits, and entries that a PostgreSQL has lost.
  // 6 for a restart that its command has left, and a server that says why it is refused.
  'src/server': 3076,
  // 1,444 for instances with leases, news by subject, cursors, budgets by content, owners of holds and names, first results found
  // again, spools of operations, and threads.
  // 22 for checkpoints of learning that never go back.
  // 365 for the chain of the trail: hashes made in the commit, words beside it, and the anchor of retention.
  // 22 for the same.
  // 605 for people, logins, subjects, alerts and lines of keys.
  // 128 for lists without bodies.
  // 2 for the playground.
  // 760 for traffic in buckets: its sums, batches, rows and reading.
  // 37 for keys that sign in.
  // 761 for traffic in buckets: its sums, batches, rows and reading.
  // 41 for the entries of one reservation.
  // 5 for the sum of all charges beside the checkpoint, names of sums of traffic, and the index of a folder that is generated.
  // 5 for filters of the trail.
  // 39 for the same.
  // 24 for the charges of several keys, and for those without runs.
  // 37 for sums of minutes that hours and days are put together from, which costs a third of the CPU.
  // 413 for PostgreSQL: its driver, addresses, readers and migrations.
  // 1,190 for its tables, commits, leases and news, of which 530 are words of SQL.
  // 17 for repositories apart from the tables of SQLite, and scripts in a commit that any driver can run.
  // 900 for the books in PostgreSQL, without the function in SQL.
  // 49 for charges whose accounts, tariffs and records are read once a batch, and figures that are added by name.
  // 1 for the sum of charges at the checkpoint.
  // 16 for the moment of the first request.
  // 4 for summaries that are read from a body at once.

  // 60 for the way of books to their database.
  // 67 for servers at one database, with the policy of each.
  // 14 for the same.
  // 96 for pushed policies.
  // 190 for traffic in PostgreSQL, and the horizon that it is counted to.
  // 50 for statements that ride with operations in PostgreSQL, and for groups as columns.
  // 114 for limits that instances share.
  // 345 for the ledger of PostgreSQL as commands read it, and its sums of charges.
  // 150 for groups as columns.
  // 81 for leases of jobs, and what two merges have not summed.
  // 364 for the driver of PostgreSQL, its spool, and the state of tables.
  // 1 for the bound of a sweep.
  // 5 for copies that are too old to judge by.
  // 10 for settlements whose company is unmet.
  // 592 for copies between SQLite and PostgreSQL.
  // 4 for stores that several servers share.
  // 12 for the limits of the newest policy, and for the lag of counts.
  // 51 for funds that other servers draw on.
  // 30 for databases that refuse.
  // 14 for the table at which a copy fails.
  // 96 for partitions of records, and lists that read few of their pages.
  // 10 for holds of a process that took another name, and requests that are refused.
  // 8 for the place of a database that cannot be reached, a user without rights, and one who needs none to make tables that are up to date.
  // 8 for calls of books whose answer was lost, and earmarks that are repeated behind their capture.
  // 45 for poolers that give each transaction another session, bounds that are set by a statement, and the history of a copy.
  // 21 for settlements that a stop would lose, and answers that wait for no more than their own.
  // 76 for metrics on connections that fail, and on work that one server does for all, sentences of a database that cannot be reached, URLs with a mistake, a start that waits for a place, budgets that are counted on, data folders, and databases that were accepted before.
  // 35 for words on TLS, a password's file that is looked at before it is needed, a store that is not there, the name of a database in each of its errors, one that has gone back, and a server that says so.
  'src/store': 14649,
  // 5 for the name of each dialect.
  'src/surface': 4568,
  // 17 for IDs of traces and timers as fields of objects.
  // 13 for headers of the collector that are read from a file.
  // 12 for lines that name their process.
  'src/telemetry': 1031,
  'src/tokenizer': 195,
  // 27 for alarms, connections and pauses as fields of objects.
  // 50 for the terms of breakers and declared speeds.
  'src/upstream': 3405,
};

const ROOT = join(import.meta.dir, '..');

/** `src/` and `plugins/` have their rooms as folders; a file beside them is its own. */
const roomOf = (path: string): string => path.split('/').slice(0, 2).join('/');

/** Lines that are neither blank nor comment. */
function linesIn(text: string): number {
  let lines = 0;
  let isComment = false;
  for (const line of text.split('\n')) {
    const code = line.trim();
    if (isComment) isComment = !code.includes('*/');
    else if (code.startsWith('/*')) isComment = !code.includes('*/');
    else if (code !== '' && !code.startsWith('//')) lines++;
  }
  return lines;
}

function linesByRoom(): Record<string, number> {
  const rooms: Record<string, number> = {};
  for (const folder of ['src', 'plugins']) {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })) {
      if (!entry.isFile() || !/\.tsx?$/.test(entry.name)) continue;
      const path = join(entry.parentPath, entry.name);
      const room = roomOf(relative(ROOT, path));
      rooms[room] = (rooms[room] ?? 0) + linesIn(readFileSync(path, 'utf8'));
    }
  }
  return rooms;
}

test('lines are counted without blank ones and comments', () => {
  expect(linesIn('/** One. */\nconst a = 1; // two\n\n/*\n * three\n */\n// four\nconst b = "/*";\n')).toBe(2);
});

test('no room has more lines than its figure, and every room has one', () => {
  const rooms = linesByRoom();
  expect(Object.keys(rooms).sort()).toEqual(Object.keys(LINES_MAX).sort());
  expect(Object.entries(rooms).filter(([room, lines]) => lines > LINES_MAX[room]!)).toEqual([]);
});
