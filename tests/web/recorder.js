/** Records the GET requests to servers of this process in the file WEB_RECORD, one per line. */

import { appendFileSync } from 'node:fs';
import { Server } from 'node:http';

const emit = Server.prototype.emit;
Server.prototype.emit = function (event, request, ...rest) {
  if (event === 'request' && request.method === 'GET')
    appendFileSync(process.env.WEB_RECORD, `${request.url}\n`);
  return emit.call(this, event, request, ...rest);
};
