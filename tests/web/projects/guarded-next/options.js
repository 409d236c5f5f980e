export default { command: [process.execPath, 'webkiln.js'], types: false };
