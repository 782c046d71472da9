import { Server as HttpServer } from 'node:http';
import { Server } from 'node:net';

/** Loaded before a server that has no setting for its address: it listens on 127.0.0.1 and nowhere else. */
for (const { prototype } of new Set([Server, HttpServer])) {
  if (!Object.hasOwn(prototype, 'listen')) continue;
  const { listen } = prototype;
  prototype.listen = function (port, _host, ...rest) {
    return listen.call(this, port, '127.0.0.1', ...rest);
  };
}
