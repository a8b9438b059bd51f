// The Lambda function: hands each record to the runner, which tells whether it failed.

exports.handle = async ({ Records }) => {
    for (const record of Records) {
        const body = JSON.stringify(record);
        const answer = await fetch(process.env.HANDLER_URL, { method: "POST", body });
        if (!answer.ok) {
            throw new Error(await answer.text());
        }
    }
};
