/** @type {import('next').NextConfig} */
export default { output: 'export', basePath: process.env.BASE_PATH };
